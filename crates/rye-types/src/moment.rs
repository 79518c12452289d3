//! Times of day in records.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::Timestamp;

/// A time of day in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// Creates a moment from milliseconds since the start of 1970, UTC.
    #[must_use]
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the start of 1970, UTC.
    #[must_use]
    pub const fn as_unix_millis(self) -> i64 {
        self.0
    }

    /// Returns the moment if a record may carry it.
    ///
    /// # Errors
    ///
    /// [`ClockError`] if it is before 1970. Such a clock is not set, and a dated signature would not expire when it should.
    pub const fn validate(self) -> Result<Self, ClockError> {
        if self.0 < 0 { Err(ClockError { moment: self }) } else { Ok(self) }
    }

    /// Returns the whole seconds, as signatures carry them.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_unix(self.0.div_euclid(1_000))
    }
}

/// Keeps times before 1970, so that [`Moment::validate`] can refuse them.
impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => Self(millis(since)),
            // At least one millisecond, so that a fraction before 1970 does not become 1970.
            Err(before) => Self(-millis(before.duration()).max(1)),
        }
    }
}

/// A clock that shows a time before 1970.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the clock shows {moment}, which is before 1970; set the clock of this machine")]
pub struct ClockError {
    /// The time that the clock shows.
    pub moment: Moment,
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

/// A text that is not a time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    fn a_reading_of_a_clock_before_1970_is_an_error() {
        let at = |millis: u64| Duration::from_millis(millis);
        let start = SystemTime::UNIX_EPOCH;
        let nanosecond = Duration::from_nanos(1);
        for time in [start, start + at(1), start + at(1_795_197_600_250)] {
            assert_eq!(Moment::from(time).validate(), Ok(Moment::from(time)));
        }
        assert_eq!(Moment::from(start + at(250)), Moment::from_unix_millis(250));
        for time in [start - nanosecond, start - at(1), start - at(86_400_000_000)] {
            assert!(Moment::from(time).validate().is_err(), "{time:?}");
        }
        let message = "the clock shows 1969-12-31T23:59:59.000Z, which is before 1970; set the clock of this machine";
        let error = Moment::from(start - at(1_000)).validate().unwrap_err();
        assert_eq!(error.to_string(), message);
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
