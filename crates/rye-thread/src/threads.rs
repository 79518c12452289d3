//! Threads for programs with their own text and tools, without a directive.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_caps::Authority;
use rye_sign::SigningKey;

use crate::drive::driven_before;
use crate::store::LocalStore;
use crate::{
    Cancel, Clock, DriveContext, Hooks, Journal, JournalError, Outcome, Palette, Provider,
    Registry, Run, ThreadId, ThreadRecord, drive,
};

/// A folder of threads, and the key that signs them.
///
/// It supplies the context of [`drive`] for a thread without an observer, a cancel flag and an approver. For any of
/// these, make the [`DriveContext`] directly.
pub struct Threads {
    folder: PathBuf,
    store: Arc<LocalStore>,
    registry: Arc<Registry>,
    key: Arc<SigningKey>,
}

/// The provider, tools, authority and clock of a thread.
#[expect(clippy::exhaustive_structs, reason = "a thread that lacks one of these must not compile")]
#[expect(missing_debug_implementations, reason = "most of it is traits that others implement")]
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The model that replies.
    pub provider: &'a dyn Provider,
    /// The tools with whose specifications the run was made.
    pub palette: &'a Palette,
    /// The authority. It refuses every call that it does not allow.
    pub authority: &'a Authority,
    /// The source of time.
    pub clock: &'a dyn Clock,
}

impl Threads {
    /// Opens the folder, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the folder or its `registry.db` cannot be used.
    pub fn open(folder: &Path, key: SigningKey) -> Result<Self, JournalError> {
        let store = Arc::new(LocalStore::open(folder)?);
        let registry = Arc::new(store.registry());
        Ok(Self { folder: folder.to_owned(), store, registry, key: Arc::new(key) })
    }

    /// Runs a new conversation to its end, in a new thread with this id. `name` replaces the directive in its record.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the thread's folder exists already or cannot be written. Later failures are in the
    /// [`Outcome`].
    pub async fn drive(
        &self,
        thread: &ThreadId,
        name: &str,
        run: Run,
        setting: Setting<'_>,
    ) -> Result<Outcome, JournalError> {
        if run.turns() > 0 {
            return Ok(driven_before(&run));
        }
        let Setting { provider, palette, authority, clock } = setting;
        let record = ThreadRecord::new(thread, name, run.limits(), clock.now());
        let registry = Arc::clone(&self.registry);
        let store = Arc::clone(&self.store) as _;
        let key = Arc::clone(&self.key);
        let mut journal = Journal::create(&self.folder, record, key, registry, store)?;
        let context = DriveContext {
            provider,
            palette,
            authority,
            journal: &mut journal,
            clock,
            observer: &(),
            approver: &(),
            cancel: &Cancel::new(),
            injected: &[],
            hooks: &Hooks::none(),
        };
        Ok(drive(run, context).await)
    }

    /// Returns the folder of the thread, with its transcript and its record.
    #[must_use]
    pub fn folder(&self, thread: &ThreadId) -> PathBuf {
        self.folder.join(thread.as_str())
    }
}

/// Omits the key.
impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("folder", &self.folder).finish_non_exhaustive()
    }
}
