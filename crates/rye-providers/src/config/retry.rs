//! How often and how long a config lets a request be tried.

use std::time::Duration;

use super::Section;

/// How often, how far apart and for how long a request is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The most attempts, the first one included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles from there.
    pub first_delay: Duration,
    /// The longest wait that we choose ourselves; a server's own wish may be longer.
    pub max_delay: Duration,
    /// The time for all attempts and waits together.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            total: Duration::from_secs(900),
        }
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
        first_delay: millis("first_delay_ms").unwrap_or(default.first_delay),
        max_delay: millis("max_delay_ms").unwrap_or(default.max_delay),
        total: section.seconds("total_seconds").unwrap_or(default.total),
    }
}
