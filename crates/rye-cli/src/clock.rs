//! The system clock, which is read only here.

use std::time::{Duration, Instant};

use rye::thread::Clock;
use rye::types::Moment;

use crate::environment::Environment;

/// The time of day, and the time since the start of the program.
#[derive(Debug)]
pub(crate) struct SystemClock {
    started: Instant,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Environment::moment()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
