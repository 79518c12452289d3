//! A thread that can be driven now: a new one, or one that goes on.

use std::path::PathBuf;
use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::transcript::Reading;
use rye_thread::{Cancel, Journal, Outcome, ResumeError, Resumed, Run, ThreadId, drive, resume};
use rye_types::RaisedLimits;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::live::Live;
use super::prepare::{Means, Prepared};
use super::tree::{InheritedSettings, Tree, bound};
use super::{Host, RunError, Store, begin_run};

/// A run with its journal, and all that it works with.
pub(super) struct Begun {
    run: Run,
    pub(super) journal: Journal,
    means: Means,
    inherited: InheritedSettings,
    pub(super) folder: PathBuf,
    pub(super) warnings: Vec<String>,
    before: Option<Before>,
}

/// The thread from which a resumed or reopened thread continues.
pub(super) struct Before {
    pub(super) reading: Reading,
    /// The recorded facts of this opening.
    pub(super) facts: Map<String, Value>,
    /// `true` if the thread continues after it had ended.
    pub(super) reopens: bool,
    /// The limits that the operator raises.
    pub(super) raised: RaisedLimits,
}

impl Begun {
    /// A new thread, with its folder.
    pub(super) fn new(
        prepared: Prepared,
        store: &Store,
        key: Arc<SigningKey>,
    ) -> Result<Self, RunError> {
        let Prepared {
            threads, record, contract, opening, text, means, inherited, warnings, ..
        } = prepared;
        let max_output = means.provider.describe().max_output;
        let limits = record.limits.clone();
        let text = text.as_deref();
        let tools = means.palette.specs(&contract);
        let run = begin_run(opening, text, tools, contract, limits, max_output);
        let journal = store.journal(&threads, record, key)?;
        let folder = journal.folder().to_owned();
        Ok(Self { run, journal, means, inherited, folder, warnings, before: None })
    }

    /// A thread that goes on.
    pub(super) fn again(
        run: Run,
        journal: Journal,
        means: Means,
        inherited: InheritedSettings,
        warnings: Vec<String>,
        before: Before,
    ) -> Self {
        let folder = journal.folder().to_owned();
        Self { run, journal, means, inherited, folder, warnings, before: Some(before) }
    }

    /// Returns the record from which a resumed thread continues.
    pub(super) fn before(&self) -> Option<&Reading> {
        self.before.as_ref().map(|before| &before.reading)
    }

    /// Returns the number of threads of the tree that may wait for a provider at once.
    pub(super) fn requests(&self) -> usize {
        self.means.requests
    }

    /// Takes its place among the threads of a tree.
    pub(super) fn join(&mut self, thread: &ThreadId, tree: &Arc<Tree>, places: &Arc<Semaphore>) {
        tree.set_inherited(thread, self.inherited.clone());
        self.means.children.connect(thread, tree);
        if self.means.is_exposed {
            tree.expose();
        }
        self.means.bound(|provider| bound(provider, Arc::clone(places)));
    }

    /// Drives it to its end, or to where it stops.
    pub(super) async fn drive(
        self,
        host: &Host<'_>,
        cancel: &Cancel,
    ) -> Result<Outcome, ResumeError> {
        let Self { run, mut journal, means, before, folder, .. } = self;
        let live = Live::new(&folder, host.observer);
        let host = Host { cancel, observer: &live, ..host.clone() };
        let context = means.context(&mut journal, &host);
        match before {
            None => Ok(drive(run, context).await),
            Some(Before { reading, facts, reopens, raised }) => {
                let mut resumed = Resumed::new(&reading);
                (resumed.facts, resumed.reopens, resumed.raised) = (facts, reopens, raised);
                resume(run, resumed, context).await
            }
        }
    }
}
