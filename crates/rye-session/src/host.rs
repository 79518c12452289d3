//! Defaults for a program that embeds Rye: the system's clock, and a host that lends nothing else.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rye_providers::ApiKey;
use rye_resolve::ItemId;
use rye_thread::{Cancel, Clock, ThreadId, ThreadIdError};
use rye_types::{Moment, Timestamp};

use crate::session::{Host, Secrets};

/// The system's clock, for programs that hand over the real time. Nothing of the library reads it by itself.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose elapsed time begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }

    /// The time of day in seconds, as [`Setup`](rye_project::Setup) takes it.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.now().timestamp()
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever hands this clock over asks for the real time"
    )]
    fn now(&self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// No key for any provider.
impl Secrets for () {
    fn api_key(&self, _name: &str) -> Option<ApiKey> {
        None
    }
}

impl<'a> Host<'a> {
    /// Returns a host that lends a run nothing but time.
    ///
    /// It has no keys of providers, no observer and no approver, so that a call that waits for approval
    /// suspends its thread. Each thread signs its record with a key of its own. Set the fields that a run is
    /// to have.
    ///
    /// ```
    /// use rye_project::{ProviderChoice, Setup, shipped_files};
    /// use rye_resolve::Spaces;
    /// use rye_session::{Host, RunRequest, Rye, SystemClock};
    /// use rye_thread::Cancel;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # std::fs::create_dir(folder.path().join(".ai"))?;
    /// let (clock, cancel) = (SystemClock::new(), Cancel::new());
    /// let spaces = Spaces::new().with_project(folder.path()).with_shipped(shipped_files());
    /// let rye = Rye::open(&Setup::new(spaces, clock.timestamp()))?;
    /// let host = Host::new(&clock, &cancel);
    /// let directive: rye_resolve::ItemId = "rye/core/list_folder".parse()?;
    /// let thread = host.new_thread(&directive)?;
    /// let mut request = RunRequest::new(directive, thread);
    /// request.provider = ProviderChoice::Steps;
    /// let report = tokio::runtime::Runtime::new()?.block_on(rye.run(request, host))?;
    /// assert_eq!(report.outcome.outputs.unwrap()["count"], 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(clock: &'a dyn Clock, cancel: &'a Cancel) -> Self {
        Self {
            clock,
            secrets: &(),
            observer: &(),
            approver: &(),
            cancel,
            random: Arc::new(random),
            signing_key: None,
        }
    }

    /// Returns an id for a new thread of `directive`, with a UUID of version 7 by this host's clock and
    /// random bits.
    ///
    /// # Errors
    ///
    /// The method fails if the directive's id is too long for the id of a thread.
    pub fn new_thread(&self, directive: &ItemId) -> Result<ThreadId, ThreadIdError> {
        let uuid = uuid_v7(self.clock.now(), (self.random)(), (self.random)());
        ThreadId::new(directive.as_str(), &uuid)
    }
}

/// Bits that the standard library draws from the system's for each of its hash maps.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

fn uuid_v7(at: Moment, high: u64, low: u64) -> String {
    let millis = at.as_unix_millis().cast_unsigned();
    let first = (millis >> 16) & 0xffff_ffff;
    let second = millis & 0xffff;
    let third = 0x7000 | (high & 0xfff);
    let fourth = 0x8000 | (low >> 48 & 0x3fff);
    format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{:012x}", low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_form_of_version_7() {
        let at = Moment::from_unix_millis(0x0199_9999_9999);
        for (high, low, expected) in [
            (0, 0, "01999999-9999-7000-8000-000000000000"),
            (u64::MAX, u64::MAX, "01999999-9999-7fff-bfff-ffffffffffff"),
        ] {
            assert_eq!(uuid_v7(at, high, low), expected);
            assert!(ThreadId::new("a/b", expected).is_ok());
        }
    }

    #[test]
    fn two_threads_have_two_ids() {
        let clock = SystemClock::new();
        let cancel = Cancel::new();
        let host = Host::new(&clock, &cancel);
        let id: ItemId = "a/b".parse().unwrap();
        assert_ne!(host.new_thread(&id).unwrap(), host.new_thread(&id).unwrap());
    }
}
