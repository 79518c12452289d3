//! The retry policy of a config.

use std::time::Duration;

use rye_thread::ProviderErrorClass;

use super::Section;

/// The limits of attempts, waits and time for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The largest number of attempts, including the first.
    pub attempts: u32,
    /// The wait before the second attempt. It doubles for each further one. `None` means that it depends on the
    /// failure.
    pub first_delay: Option<Duration>,
    /// The longest wait, unless the server asks for a longer one.
    pub max_delay: Duration,
    /// The time for all attempts and waits together.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 8,
            first_delay: None,
            max_delay: Duration::from_secs(30),
            total: Duration::from_secs(900),
        }
    }
}

impl RetryPolicy {
    /// Returns the wait before the second attempt after a failure of this class.
    ///
    /// By default it is short where an attempt costs nothing, and long where the provider may charge for each.
    pub fn first_delay_after(&self, class: ProviderErrorClass) -> Duration {
        self.first_delay.unwrap_or(Duration::from_secs(match class {
            ProviderErrorClass::Network => 1,
            ProviderErrorClass::Overloaded => 2,
            ProviderErrorClass::RateLimited => 4,
            _ => 5,
        }))
    }
}

pub(super) fn read(section: &Section<'_>) -> RetryPolicy {
    section.only(&["attempts", "first_delay_ms", "max_delay_ms", "total_seconds"]);
    let default = RetryPolicy::default();
    let millis = |key| section.count(key, 3_600_000).map(Duration::from_millis);
    RetryPolicy {
        attempts: section
            .count("attempts", 20)
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(default.attempts),
        first_delay: millis("first_delay_ms").or(default.first_delay),
        max_delay: millis("max_delay_ms").unwrap_or(default.max_delay),
        total: section.seconds("total_seconds").unwrap_or(default.total),
    }
}
