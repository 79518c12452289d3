//! Clocks that are not set.

use std::time::Duration;

use rye::resolve::Spaces;
use rye::thread::Clock;
use rye::types::{Moment, Timestamp};
use rye::{OpenError, ReopenError, RunError, Rye, Setup};

use super::{sound, wrote};

/// A clock at the last second before 1970.
struct Unset;

impl Clock for Unset {
    fn now(&self) -> Moment {
        Moment::from_unix_millis(-1_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test]
async fn a_clock_before_1970() {
    let scratch = sound();
    let error = scratch.run_at("test/write", &Unset).await.unwrap_err();
    assert!(matches!(error, RunError::Clock(_)), "{error:?}");
    assert!(!wrote(&scratch));
    assert!(!scratch.project().join(".ai/threads").exists(), "nothing is recorded by such a clock");
    let report = scratch.run("test/write", &[]).await.unwrap();
    let error = scratch.resume_at(&report.thread, &Unset).await.unwrap_err();
    assert!(matches!(error, ReopenError::Clock(_)), "{error:?}");
    let error = scratch.cancel(&report.thread, &Unset).unwrap_err();
    assert!(matches!(error, ReopenError::Clock(_)), "{error:?}");
    let setup = Setup::new(Spaces::new(), Timestamp::from_unix(-1));
    assert!(matches!(Rye::open(&setup), Err(OpenError::Clock(_))));
}
