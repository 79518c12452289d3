//! A further attempt of a request, as its provider announces it.

use std::fmt;
use std::time::Duration;

use rye_types::Usage;

use crate::{Charge, ProviderErrorClass};

/// A further attempt of a request, announced before its wait.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// The number of the next attempt, from 2.
    pub attempt: u32,
    /// The most attempts that the request may have.
    pub attempts: u32,
    /// The class of the failure of the attempt before.
    pub class: ProviderErrorClass,
    /// The failure of the attempt before, in words that hold no key.
    pub message: String,
    /// The wait that the server asked for.
    pub hint: Option<Duration>,
    /// The wait until the next attempt.
    pub wait: Duration,
    /// The charge of the failed attempt.
    pub charge: Charge,
    /// The tokens of the answer that is not used, as far as they are known. They count towards the limit `tokens`.
    pub usage: Usage,
}

impl Retry {
    /// Creates the announcement of attempt `attempt` of at most `attempts`, without a wait, after a failure without
    /// cost.
    #[must_use]
    pub fn new(attempt: u32, attempts: u32, class: ProviderErrorClass, message: &str) -> Self {
        Self {
            attempt,
            attempts,
            class,
            message: message.to_owned(),
            hint: None,
            wait: Duration::ZERO,
            charge: Charge::Nothing,
            usage: Usage::default(),
        }
    }
}

/// A line for people, such as `rate limited, next attempt in 6 s (2 of 4)`.
impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempt, attempts, class, wait, .. } = self;
        if class.is_of_reply() {
            return write!(f, "{}, asked again ({attempt} of {attempts})", words(*class));
        }
        write!(
            f,
            "{}, next attempt in {} ({attempt} of {attempts})",
            words(*class),
            wait_in_words(*wait)
        )
    }
}

const fn words(class: ProviderErrorClass) -> &'static str {
    match class {
        ProviderErrorClass::Auth => "not allowed",
        ProviderErrorClass::ContentRefused => "refused for the content",
        ProviderErrorClass::ContextTooLong => "conversation too long",
        ProviderErrorClass::CutCall => "call cut off",
        ProviderErrorClass::Empty => "empty answer",
        ProviderErrorClass::Malformed => "malformed answer",
        ProviderErrorClass::InvalidRequest => "request not accepted",
        ProviderErrorClass::Network => "no connection",
        ProviderErrorClass::Overloaded => "overloaded",
        ProviderErrorClass::RateLimited => "rate limited",
        ProviderErrorClass::Server => "server error",
        ProviderErrorClass::SpendLimit => "spending limit of the provider",
        ProviderErrorClass::StepFailed => "step failed",
        ProviderErrorClass::Timeout => "timed out",
    }
}

/// Formats a wait for people, such as `40 ms`, `6.2 s`, `6 min` or `1 day 3 h`.
#[must_use]
pub fn wait_in_words(wait: Duration) -> String {
    let millis = wait.as_millis();
    let seconds = (millis + 500) / 1_000;
    let both = |large: u128, size: u128, name: &str, small: u128, small_name: &str| {
        let plural = if name == "day" && large != 1 { "s" } else { "" };
        match seconds % size / small {
            0 => format!("{large} {name}{plural}"),
            rest => format!("{large} {name}{plural} {rest} {small_name}"),
        }
    };
    match seconds {
        _ if millis < 100 => format!("{millis} ms"),
        _ if millis < 10_000 && millis % 1_000 >= 50 => format!("{:.1} s", wait.as_secs_f64()),
        0..60 => format!("{seconds} s"),
        60..HOUR => both(seconds / 60, 60, "min", 1, "s"),
        HOUR..DAY => both(seconds / HOUR, HOUR, "h", 60, "min"),
        DAY.. => both(seconds / DAY, DAY, "day", HOUR, "h"),
    }
}

const HOUR: u128 = 3_600;
const DAY: u128 = 24 * HOUR;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_shown_in_its_unit() {
        let rows = [
            (0, "0 ms"),
            (99, "99 ms"),
            (100, "0.1 s"),
            (530, "0.5 s"),
            (1_000, "1 s"),
            (6_000, "6 s"),
            (6_040, "6 s"),
            (6_250, "6.2 s"),
            (59_400, "59 s"),
            (59_600, "1 min"),
            (126_000, "2 min 6 s"),
            (3_600_000, "1 h"),
            (5_400_000, "1 h 30 min"),
            (86_400_000, "1 day"),
            (90_003_500, "1 day 1 h"),
            (172_800_000, "2 days"),
        ];
        for (millis, expected) in rows {
            let mut retry = Retry::new(2, 4, ProviderErrorClass::RateLimited, "slow down");
            retry.wait = Duration::from_millis(millis);
            let shown = format!("rate limited, next attempt in {expected} (2 of 4)");
            assert_eq!(retry.to_string(), shown);
        }
    }
}
