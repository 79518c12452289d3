//! The time in a signature line.

use std::fmt;
use std::str::FromStr;

/// A moment in whole seconds since the start of 1970 in UTC, written `2026-11-20T18:00:00Z`.
///
/// Parsing accepts only this spelling, so that each time has one text and can be part of a signed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a [`Timestamp`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a UTC time in whole seconds; write it as `2026-11-20T18:00:00Z`")]
pub struct TimestampError {
    /// The given text.
    pub text: String,
}

impl Timestamp {
    /// Converts Unix seconds. A time outside the years 0 to 9999 becomes the nearest time within them.
    pub fn from_unix(seconds: i64) -> Self {
        Self(seconds.clamp(YEAR_ZERO, jiff::Timestamp::MAX.as_second()))
    }

    /// The seconds since the start of 1970.
    pub fn as_unix(self) -> i64 {
        self.0
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || TimestampError { text: text.to_owned() };
        let parsed: jiff::Timestamp = text.parse().map_err(|_| refused())?;
        let timestamp = Self::from_unix(parsed.as_second());
        // `jiff` also parses offsets, fractions, leap seconds and a space for the `T`; comparing with the written form
        // refuses these.
        if timestamp.to_string() == text { Ok(timestamp) } else { Err(refused()) }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = jiff::Timestamp::from_second(self.0)
            .expect("because the constructor clamps to what can be written");
        write!(f, "{timestamp}")
    }
}

/// `0000-01-01T00:00:00Z`.
const YEAR_ZERO: i64 = -62_167_219_200;

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[track_caller]
    fn check_refused(text: &str) {
        let expected = format!(
            "`{text}` is not a UTC time in whole seconds; write it as `2026-11-20T18:00:00Z`"
        );
        assert_eq!(text.parse::<Timestamp>().map_err(|error| error.to_string()), Err(expected));
    }

    #[test]
    fn reads_what_it_writes() {
        for seconds in [0, 1, -1, 1_775_449_903, i64::MIN, i64::MAX] {
            let timestamp = Timestamp::from_unix(seconds);
            assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
            assert_eq!(timestamp.to_string().len(), 20);
        }
        assert_eq!("2026-04-06T04:31:43Z".parse(), Ok(Timestamp::from_unix(1_775_449_903)));
    }

    #[test]
    fn refuses_every_other_spelling() {
        for text in [
            "",
            "2026-04-06",
            "2026-04-06T04:31:43",
            "2026-04-06T04:31:43z",
            "2026-04-06 04:31:43Z",
            "2026-04-06T04:31:43.0Z",
            "2026-04-06T04:31:43+00:00",
            "2026-04-06T04:31:60Z",
            "2026-02-30T04:31:43Z",
            "+002026-04-06T04:31:43Z",
            "-000001-04-06T04:31:43Z",
            " 2026-04-06T04:31:43Z",
        ] {
            check_refused(text);
        }
    }
}
