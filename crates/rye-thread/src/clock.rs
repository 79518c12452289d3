//! Time, as the caller tells it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rye_sign::Timestamp;

/// Where a thread reads the time; only the program that owns the run has a real one.
pub trait Clock: Send + Sync {
    /// The time of day, for records.
    fn now(&self) -> Moment;

    /// Time since any fixed start, on a clock that never runs backwards; only differences are used.
    fn elapsed(&self) -> Duration;
}

/// A time of day in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// Milliseconds since the start of 1970, UTC.
    #[must_use]
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the start of 1970, UTC.
    #[must_use]
    pub const fn as_unix_millis(self) -> i64 {
        self.0
    }

    /// The whole seconds, as signatures carry them.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_unix(self.0.div_euclid(1_000))
    }
}

/// ISO 8601 with milliseconds: `2026-11-20T18:00:00.250Z`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.timestamp().to_string();
        write!(f, "{}.{:03}Z", seconds.trim_end_matches('Z'), self.0.rem_euclid(1_000))
    }
}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || MomentError { text: text.to_owned() };
        let (seconds, fraction) =
            text.strip_suffix('Z').and_then(|text| text.split_once('.')).ok_or_else(invalid)?;
        if fraction.len() != 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let seconds: Timestamp = format!("{seconds}Z").parse().map_err(|_| invalid())?;
        let millis: i64 = fraction.parse().map_err(|_| invalid())?;
        let whole = seconds.as_unix().checked_mul(1_000).ok_or_else(invalid)?;
        whole.checked_add(millis).map(Self).ok_or_else(invalid)
    }
}

/// Text that is no time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is not a time such as `2026-11-20T18:00:00.250Z`")]
pub struct MomentError {
    /// The text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_is_written() {
        for millis in [0, 1, 999, 1_000, 1_795_197_600_250, -1] {
            let moment = Moment::from_unix_millis(millis);
            assert_eq!(moment.to_string().parse(), Ok(moment), "{moment}");
        }
        assert_eq!(
            Moment::from_unix_millis(1_795_197_600_250).to_string(),
            "2026-11-20T18:00:00.250Z"
        );
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "2026-11-20T18:00:00Z",
            "2026-11-20T18:00:00.25Z",
            "2026-11-20T18:00:00.+50Z",
            "x.000Z",
        ] {
            let message = format!("`{text}` is not a time such as `2026-11-20T18:00:00.250Z`");
            assert_eq!(text.parse::<Moment>().unwrap_err().to_string(), message);
        }
    }
}
