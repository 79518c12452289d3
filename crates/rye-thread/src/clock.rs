//! Time, given by the caller.

use rye_types::Moment;

use std::time::Duration;

/// The source of time of a thread. Only the binary has a real clock.
pub trait Clock: Send + Sync {
    /// Returns the time of day, for records.
    fn now(&self) -> Moment;

    /// Returns the time since any fixed start, on a monotonic clock. Only differences are used.
    fn elapsed(&self) -> Duration;
}
