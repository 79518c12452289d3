//! Threads for programs that have a text and tools of their own, and no directive.

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
/// It puts together what [`drive`] needs for a thread that nobody watches, stops or is asked about. Whoever wants one of
/// these makes the [`DriveContext`] instead.
pub struct Threads {
    folder: PathBuf,
    store: Arc<LocalStore>,
    registry: Arc<Registry>,
    key: Arc<SigningKey>,
}

/// Who answers a thread, what it may do, and what time it is.
#[expect(clippy::exhaustive_structs, reason = "a thread that lacks one of these must not compile")]
#[expect(missing_debug_implementations, reason = "most of it is traits that others implement")]
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Who answers.
    pub provider: &'a dyn Provider,
    /// The tools whose specifications the run was made with.
    pub palette: &'a Palette,
    /// Who allows the calls; what it does not allow is refused.
    pub authority: &'a Authority,
    /// What time it is.
    pub clock: &'a dyn Clock,
}

impl Threads {
    /// Opens the folder, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// When the folder or its `registry.db` cannot be used.
    pub fn open(folder: &Path, key: SigningKey) -> Result<Self, JournalError> {
        let store = Arc::new(LocalStore::open(folder)?);
        let registry = Arc::new(store.registry());
        Ok(Self { folder: folder.to_owned(), store, registry, key: Arc::new(key) })
    }

    /// Runs a conversation that has not begun to its end, in a new thread with this id; `name` stands in its record where
    /// other threads have their directive.
    ///
    /// # Errors
    ///
    /// When the thread's folder is there already or cannot be written; what happens after that is in the [`Outcome`].
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
        let (registry, store) = (Arc::clone(&self.registry), Arc::clone(&self.store) as _);
        let key = Arc::clone(&self.key);
        let mut journal = Journal::create_unlisted(&self.folder, record, key, registry, store)?;
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

    /// The folder of the thread, with its transcript and its record.
    #[must_use]
    pub fn folder(&self, thread: &ThreadId) -> PathBuf {
        self.folder.join(thread.as_str())
    }
}

/// Without the key.
impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("folder", &self.folder).finish_non_exhaustive()
    }
}
