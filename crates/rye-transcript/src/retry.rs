//! A further attempt of a request, as its provider announces it.

use std::fmt;
use std::time::Duration;

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
        }
    }
}

/// A line for people, such as `rate limited, next attempt in 6 s (2 of 4)`.
impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempt, attempts, class, wait, .. } = self;
        write!(f, "{}, next attempt in {} ({attempt} of {attempts})", words(*class), length(*wait))
    }
}

const fn words(class: ProviderErrorClass) -> &'static str {
    match class {
        ProviderErrorClass::Auth => "not allowed",
        ProviderErrorClass::ContentRefused => "refused for the content",
        ProviderErrorClass::ContextTooLong => "conversation too long",
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

/// Formats a wait for people: milliseconds, tenths of a second or whole seconds.
fn length(wait: Duration) -> String {
    let millis = wait.as_millis();
    match millis {
        0..100 => format!("{millis} ms"),
        100..10_000 if millis % 1_000 >= 50 => format!("{:.1} s", wait.as_secs_f64()),
        _ => format!("{} s", (millis + 500) / 1_000),
    }
}

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
            (59_600, "60 s"),
        ];
        for (millis, expected) in rows {
            let mut retry = Retry::new(2, 4, ProviderErrorClass::RateLimited, "slow down");
            retry.wait = Duration::from_millis(millis);
            let shown = format!("rate limited, next attempt in {expected} (2 of 4)");
            assert_eq!(retry.to_string(), shown);
        }
    }
}
