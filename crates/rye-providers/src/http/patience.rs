//! The time limits of a response.

use std::error::Error;
use std::time::Duration;

use rye_thread::ProviderErrorClass;
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use super::memory::{AnswerMemory, Room, TooLong};
use super::report::Reporter;
use super::retry::Reached;

/// The time limits of a response.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// The longest time between two pieces of a stream.
    idle: Duration,
    /// The end of the whole time.
    deadline: Instant,
    limit: Limit,
}

/// A time limit with its key in the configuration.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) setting: &'static str,
    pub(super) value: Duration,
}

impl Patience {
    /// Sets the limits from now on. `whole` is the time from connecting to the last byte, and `limit` is the
    /// setting that it comes from.
    pub(super) fn from_now(whole: Duration, idle: Duration, limit: Limit) -> Self {
        Self { idle, deadline: Instant::now() + whole, limit }
    }

    /// The time that is left.
    #[cfg(test)]
    pub(super) fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits for the work until the deadline.
    pub(super) async fn wait<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        // The timer alone never stops work that is always ready, so a server could send without end.
        let is_late = self.deadline <= Instant::now();
        match timeout_at(self.deadline, work).await {
            Ok(done) if !is_late => done.map_err(|error| transport_failure(error, reporter)),
            _ => {
                let message = reporter.late(self.limit.value, self.limit.setting);
                Err(Failure::without_answer(ProviderErrorClass::Timeout, message))
            }
        }
    }

    /// Waits for room for an answer, before anything is sent.
    pub(super) async fn admit<'m>(
        self,
        reporter: &Reporter,
        memory: &'m AnswerMemory,
        maximum: usize,
    ) -> Result<Room<'m>, Failure> {
        let admitted = timeout_at(self.deadline, memory.admit(maximum)).await;
        admitted.map_err(|_| {
            let message = reporter.memory_full(self.limit.value, self.limit.setting);
            Failure::at(Reached::NotConnected, ProviderErrorClass::Timeout, message)
        })
    }

    /// Waits for room for this many bytes.
    pub(super) async fn wait_for_room(
        self,
        reporter: &Reporter,
        room: &mut Room<'_>,
        bytes: usize,
    ) -> Result<(), Failure> {
        match timeout_at(self.deadline, room.hold(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(TooLong { maximum })) => {
                let message = reporter.too_large(maximum);
                Err(Failure::without_answer(ProviderErrorClass::Server, message))
            }
            Err(_) => {
                let message = reporter.memory_full(self.limit.value, self.limit.setting);
                Err(Failure::without_answer(ProviderErrorClass::Timeout, message))
            }
        }
    }

    /// Waits for a piece of a stream, at most for the idle time.
    pub(super) async fn wait_for_piece<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        let silence = Instant::now() + self.idle;
        match timeout_at(silence, self.wait(reporter, work)).await {
            Ok(done) => done,
            Err(_) => Err(Failure::without_answer(
                ProviderErrorClass::Timeout,
                reporter.silent(self.idle),
            )),
        }
    }
}

fn transport_failure(error: reqwest::Error, reporter: &Reporter) -> Failure {
    let failure = if error.is_connect() {
        let message = reporter.unreachable();
        Failure::at(Reached::NotConnected, ProviderErrorClass::Network, message)
    } else {
        Failure::without_answer(ProviderErrorClass::Network, reporter.broken_connection())
    };
    failure.because(reporter.redact(&innermost(&error.without_url())).into())
}

/// Returns the innermost cause, without the messages of the HTTP client's layers.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
