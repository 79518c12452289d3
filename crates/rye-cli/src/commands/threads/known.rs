//! The threads of a project, in its registry and beside it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rye::thread::store::{StoreOptions, StoreView};
use rye::thread::{ThreadId, ThreadRecord, ThreadSummary, thread_root};
use rye::types::{Nanos, ThreadState, Usage};
use rye::{Rye, ThreadReadError};
use serde_json::{Map, Value};

use super::nothing;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::thread_argument::{OptionalThread, folders};

/// All threads of a project with their owners.
#[derive(Default)]
pub(super) struct Known {
    pub(super) threads: PathBuf,
    /// The newest first.
    pub(super) summaries: Vec<ThreadSummary>,
    /// The index of each thread in the summaries.
    places: BTreeMap<ThreadId, usize>,
    /// The threads outside of the registry whose records cannot be read.
    pub(super) unreadable: Vec<ThreadId>,
    /// The threads whose process left them before their end.
    stopped: BTreeSet<ThreadId>,
    /// `false` if there is no registry that can be read, because reading does not make one.
    is_listed: bool,
    /// The reason why the registry cannot be read.
    pub(super) damage: Option<String>,
    /// `None` if the trusted keys cannot be read.
    rye: Option<Rye>,
    /// The arguments that name the tree to other commands, if an engine drives it and the folder is a copy.
    pub(super) tree_of_engine: Option<String>,
}

/// The figures of a thread. Its cost includes that of its descendants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) cost: Nanos,
    /// The most that requests under way may cost beside that.
    pub(super) reserved: Nanos,
    pub(super) turns: u64,
    pub(super) usage: Usage,
    /// The time from the creation of the thread to its last change, with approval waits.
    pub(super) duration: Duration,
}

impl Figures {
    /// Returns the figures of a row of the list.
    fn of(summary: &ThreadSummary) -> Self {
        let ThreadSummary { cost, turns, usage, .. } = *summary;
        Self { cost, reserved: Nanos::ZERO, turns, usage, duration: summary.duration() }
    }
}

impl Known {
    /// Finds all threads without changing anything. Returns `None` if there are none.
    pub(super) fn open(
        threads: PathBuf,
        environment: &Environment,
    ) -> Result<Option<Self>, Failure> {
        let known = Self::read(threads, environment)?;
        let has_some = !known.summaries.is_empty() || !known.unreadable.is_empty();
        Ok(Some(known).filter(|known| known.is_listed || known.damage.is_some() || has_some))
    }

    /// Finds all threads without changing anything.
    pub(super) fn read(threads: PathBuf, environment: &Environment) -> Result<Self, Failure> {
        let mut known = Self::read_registry(threads);
        known.rye = environment.rye().ok();
        known.follow_folders(environment)?;
        known.see_ends();
        let threads = known.summaries.iter().map(|summary| summary.thread.clone());
        known.places = threads.zip(0..).collect();
        Ok(known)
    }

    /// Reads only the registry. It is an index of the folders, so that one that cannot be read is as good as none.
    fn read_registry(threads: PathBuf) -> Self {
        let (listed, damage) = match list(&threads) {
            Ok(listed) => (listed, None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        let is_listed = listed.is_some();
        let summaries = listed.unwrap_or_default();
        Self { threads, summaries, is_listed, damage, ..Self::default() }
    }

    /// Updates unfinished threads without an owner from their records, and leaves out those that were changed. A row is written without `fsync`, so that a power loss may
    /// leave an older one.
    fn see_ends(&mut self) {
        let mut changed = BTreeSet::new();
        for place in 0..self.summaries.len() {
            let Some(summary) = self.summaries.get(place).filter(|it| !it.state.is_final()) else {
                continue;
            };
            if self.driver(&summary.thread).is_some() {
                continue;
            }
            // Without trusted keys, the registry is believed and not the record.
            let reading = self.rye.as_ref().map(|rye| rye.thread(&self.threads, &summary.thread));
            let summary = match reading {
                Some(Ok(reading)) => ThreadSummary::of(&reading.record),
                Some(Err(error)) if error.is_tampering() => {
                    changed.insert(summary.thread.clone());
                    continue;
                }
                Some(Err(_)) | None => summary.clone(),
            };
            if may_run(summary.state) {
                self.stopped.insert(summary.thread.clone());
            }
            if let Some(row) = self.summaries.get_mut(place) {
                *row = summary;
            }
        }
        self.summaries.retain(|summary| !changed.contains(&summary.thread));
        self.unreadable.extend(changed);
    }

    /// Adds threads without an entry in the registry, such as those of a copied folder, and leaves out entries without a folder.
    fn follow_folders(&mut self, environment: &Environment) -> Result<(), Failure> {
        let mut unlisted: BTreeSet<ThreadId> = folders(&self.threads).into_iter().collect();
        self.summaries.retain(|summary| unlisted.remove(&summary.thread));
        for thread in unlisted {
            match environment.rye()?.thread(&self.threads, &thread) {
                Ok(reading) => self.summaries.push(ThreadSummary::of(&reading.record)),
                // A folder without a begun thread comes from a killed program.
                Err(ThreadReadError::Unbegun { .. }) => {}
                Err(_) => self.unreadable.push(thread),
            }
        }
        self.summaries.sort_by_key(|it| Reverse(it.created));
        Ok(())
    }

    pub(super) fn warn_of_unreadable(&self) {
        let by_folder = |damage: &String| {
            format!(
                "{damage}; the threads are listed by their folders, and `rye threads reindex` writes the list anew"
            )
        };
        output::warnings(&self.damage.iter().map(by_folder).collect::<Vec<_>>());
        let warn = |thread: &ThreadId| {
            format!("thread {thread} cannot be read; `rye threads verify {thread}` says why")
        };
        output::warnings(&self.unreadable.iter().map(warn).collect::<Vec<_>>());
    }

    pub(super) fn find(&self, thread: &ThreadId) -> Option<&ThreadSummary> {
        self.summaries.get(*self.places.get(thread)?)
    }

    /// Returns `true` if there is no such thread, neither in the registry nor with a record.
    pub(super) fn lacks(&self, thread: &ThreadId) -> bool {
        self.find(thread).is_none() && !self.unreadable.contains(thread)
    }

    /// Returns the newest thread that no other thread started, or else the newest of all.
    pub(super) fn newest(&self) -> Result<&ThreadId, Failure> {
        let newest = self.summaries.iter().find(|summary| self.is_first(summary));
        newest.or(self.summaries.first()).map(|summary| &summary.thread).ok_or_else(nothing)
    }

    /// Returns the thread on the command line, or the newest.
    pub(super) fn named_or_newest(
        &self,
        named: &OptionalThread,
        environment: &Environment,
    ) -> Result<ThreadId, Failure> {
        match named.resolve(environment)? {
            Some(thread) => Ok(thread),
            None => self.newest().cloned(),
        }
    }

    /// Returns `true` if no known thread started it.
    pub(super) fn is_first(&self, summary: &ThreadSummary) -> bool {
        summary.parent.as_ref().is_none_or(|parent| self.find(parent).is_none())
    }

    /// Returns the process that owns the tree of the thread. A lock that cannot be read counts as owned, so
    /// that the other threads can still be shown.
    pub(super) fn driver(&self, thread: &ThreadId) -> Option<String> {
        let root = thread_root(&self.threads, thread);
        match StoreView::owner(&self.threads, root.as_ref().unwrap_or(thread)) {
            Ok(owner) => owner.map(|owner| owner.to_string()),
            Err(error) => Some(format!("an unknown process: {error}")),
        }
    }

    /// Returns the copied threads of a folder that an engine drives, so that none was left by a process of this machine.
    #[cfg(feature = "engine")]
    pub(super) fn of_engine(
        threads: PathBuf,
        tree: String,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let mut known = Self::read(threads, environment)?;
        known.stopped.clear();
        known.tree_of_engine = Some(tree);
        Ok(known)
    }

    /// Returns the cost of the thread and its descendants, without what is reserved for requests under way.
    pub(super) fn cost_of(&self, thread: &ThreadSummary) -> Nanos {
        self.figures_of(thread).cost
    }

    /// Returns the tokens of the threads below this one. Rows of the list are not signed and may form a circle, so that each counts once.
    pub(super) fn tokens_below(&self, thread: &ThreadId) -> u64 {
        let mut below: HashMap<&ThreadId, Vec<&ThreadSummary>> = HashMap::new();
        for summary in &self.summaries {
            if let Some(parent) = &summary.parent {
                below.entry(parent).or_default().push(summary);
            }
        }
        let mut seen = BTreeSet::from([thread]);
        let mut tokens: u64 = 0;
        let mut parents = vec![thread];
        while let Some(parent) = parents.pop() {
            let children = below.get(parent).into_iter().flatten();
            for child in children.filter(|child| seen.insert(&child.thread)).collect::<Vec<_>>() {
                tokens = tokens.saturating_add(self.figures_of(child).usage.total());
                parents.push(&child.thread);
            }
        }
        tokens
    }

    /// Returns the figures of the thread. The transcript of a thread that has not ended says them. If nothing bounds the cost of a child
    /// that cannot be read, the list says the cost.
    pub(super) fn figures_of(&self, thread: &ThreadSummary) -> Figures {
        let mut figures = Figures::of(thread);
        let Some(rye) = self.rye.as_ref().filter(|_| !thread.state.is_final()) else {
            return figures;
        };
        let Ok(reading) = rye.thread(&self.threads, &thread.thread) else { return figures };
        if let Some(record) = ThreadRecord::from_transcript(&reading.transcript) {
            let counted = Figures::of(&ThreadSummary::of(&record));
            figures = Figures { cost: figures.cost, ..counted };
        }
        if let Ok(account) = rye.thread_account(&self.threads, &reading.transcript) {
            figures.cost = account.cost.saturating_sub(account.reserved);
            figures.reserved = account.reserved;
        }
        figures
    }

    /// Returns `true` if the thread used unsigned items, or `None` if neither the list nor a verified record says so or denies it.
    pub(super) fn is_unverified(&self, thread: &ThreadSummary) -> Option<bool> {
        thread.used_unsigned.or_else(|| self.record_used_unsigned(&thread.thread))
    }

    /// Returns `true` if the verified record of the thread says that it used unsigned items.
    pub(super) fn record_used_unsigned(&self, thread: &ThreadId) -> Option<bool> {
        let record = self.rye.as_ref()?.thread_record(&self.threads, thread).ok()?;
        Some(record.used_unsigned())
    }

    /// Returns the inputs of the thread by its verified record, or none if there is no such record.
    pub(super) fn inputs_of(&self, thread: &ThreadId) -> Map<String, Value> {
        let record = self.rye.as_ref().and_then(|it| it.thread_record(&self.threads, thread).ok());
        match record.and_then(|mut record| record.facts.remove("inputs")) {
            Some(Value::Object(inputs)) => inputs,
            _ => Map::new(),
        }
    }

    /// Returns the state of the thread as a word. Its record cannot say that a running thread has no owner.
    ///
    /// A process that ends while this program reads the thread does not leave it stopped.
    pub(super) fn standing(&self, thread: &ThreadId, state: ThreadState) -> &'static str {
        let is_stopped = may_run(state) && self.stopped.contains(thread);
        if is_stopped && self.driver(thread).is_none() { STOPPED } else { state.as_str() }
    }

    /// Returns the operator's options for the store.
    pub(super) fn store_options(&self) -> StoreOptions {
        self.rye.as_ref().map_or_else(StoreOptions::default, Rye::store_options)
    }
}

/// Returns `true` if a process may drive a thread in this state.
fn may_run(state: ThreadState) -> bool {
    matches!(state, ThreadState::Created | ThreadState::Running)
}

/// Returns the rows of the registry; `None` if there is none.
fn list(threads: &Path) -> Result<Option<Vec<ThreadSummary>>, Failure> {
    let failed = |error: &dyn std::error::Error| Failure::of(error, Exit::Failed);
    let view = StoreView::open(threads).map_err(|error| failed(&error))?;
    view.map(|view| view.registry().list()).transpose().map_err(|error| failed(&error))
}

pub(super) const STOPPED: &str = "stopped";

#[cfg(test)]
mod tests {
    use super::*;

    /// A process may end between a look at its record and one at its lock.
    #[test]
    fn a_thread_is_stopped_if_its_last_record_lacks_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let thread: ThreadId = "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let mut known = Known::read_registry(folder.path().to_owned());
        assert_eq!(known.standing(&thread, ThreadState::Running), "running");
        known.stopped.insert(thread.clone());
        let standings = [
            (ThreadState::Created, STOPPED),
            (ThreadState::Running, STOPPED),
            (ThreadState::Suspended, "suspended"),
            (ThreadState::Completed, "completed"),
        ];
        for (state, standing) in standings {
            assert_eq!(known.standing(&thread, state), standing);
        }
    }
}
