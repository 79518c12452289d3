//! The threads that the registry of a project lists.

use std::path::PathBuf;

use rye::thread::store::LocalStore;
use rye::thread::{Nanos, Registry, ThreadId, ThreadState, ThreadSummary};

use super::{Show, nothing};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;

/// All threads of a project, and who drives them.
pub(super) struct Known {
    pub(super) threads: PathBuf,
    /// The newest first.
    pub(super) summaries: Vec<ThreadSummary>,
    store: LocalStore,
}

impl Known {
    /// Reads the list; nothing where no thread has run.
    pub(super) fn open(threads: PathBuf) -> Result<Option<Self>, Failure> {
        let registry = threads.join("registry.db");
        if !registry.exists() {
            return Ok(None);
        }
        let failed = |error: &dyn std::error::Error| Failure::of(error, Exit::Failed);
        let summaries = Registry::open(&registry).and_then(|registry| registry.list());
        let summaries = summaries.map_err(|error| failed(&error))?;
        let store = LocalStore::open(&threads).map_err(|error| failed(&error))?;
        Ok(Some(Self { threads, summaries, store }))
    }

    pub(super) fn find(&self, thread: &ThreadId) -> Option<&ThreadSummary> {
        self.summaries.iter().find(|summary| summary.thread == *thread)
    }

    /// Whether there is nothing of the thread, neither in the list nor in a folder of its own.
    pub(super) fn lacks(&self, thread: &ThreadId) -> bool {
        let folder = self.threads.join(thread.as_str());
        self.find(thread).is_none() && std::fs::symlink_metadata(folder).is_err()
    }

    /// The one that is asked for, else the newest that somebody started and not another thread.
    pub(super) fn named_or_newest<'a>(
        &'a self,
        arguments: &'a Show,
    ) -> Result<&'a ThreadId, Failure> {
        let newest = self.summaries.iter().find(|summary| self.is_first(summary));
        let newest = newest.or(self.summaries.first()).map(|summary| &summary.thread);
        arguments.thread.as_ref().or(newest).ok_or_else(nothing)
    }

    /// Whether no thread that is known started it.
    pub(super) fn is_first(&self, summary: &ThreadSummary) -> bool {
        summary.parent.as_ref().is_none_or(|parent| self.find(parent).is_none())
    }

    /// Who drives the thread now.
    pub(super) fn driver(&self, thread: &ThreadId) -> Result<Option<String>, Failure> {
        let driver = self.store.driver(thread, Environment::moment());
        driver.map_err(|error| Failure::of(&error, Exit::Failed))
    }

    /// What the thread cost with all below it, by the ledger.
    pub(super) fn spent(&self, thread: &ThreadSummary) -> Result<Nanos, Failure> {
        let spent = self.store.spent(&thread.thread);
        let spent = spent.map_err(|error| Failure::of(&error, Exit::Failed))?;
        Ok(spent.unwrap_or(thread.cost))
    }

    /// How the thread stands, in a word: that nobody drives one which is `running` is what its record cannot say.
    pub(super) fn standing(
        &self,
        thread: &ThreadId,
        state: ThreadState,
    ) -> Result<&'static str, Failure> {
        let may_run = matches!(state, ThreadState::Created | ThreadState::Running);
        Ok(if may_run && self.driver(thread)?.is_none() { STOPPED } else { state.as_str() })
    }
}

pub(super) const STOPPED: &str = "stopped";
