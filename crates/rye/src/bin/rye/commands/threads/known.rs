//! The threads of a project: those that its registry lists, and those that came along without it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rye::thread::store::{StoreOptions, StoreView};
use rye::thread::{Nanos, ThreadId, ThreadState, ThreadSummary, thread_root};
use rye::{Rye, ThreadReadError};
use serde_json::Value;

use super::nothing;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::thread_argument::OptionalThread;

/// All threads of a project, and who drives them.
pub(super) struct Known {
    pub(super) threads: PathBuf,
    /// The newest first.
    pub(super) summaries: Vec<ThreadSummary>,
    /// The place of each thread among the summaries.
    places: BTreeMap<ThreadId, usize>,
    /// Those that no list has and whose records do not say how they stand, because they are not as a run wrote them.
    pub(super) unreadable: Vec<ThreadId>,
    /// Nothing where there is no registry: who only looks makes none.
    store: Option<StoreView>,
    /// Nothing where configuration does not say whom to believe.
    rye: Option<Rye>,
}

impl Known {
    /// Finds all threads, and makes and changes nothing; nothing where no thread has run.
    pub(super) fn open(
        threads: PathBuf,
        environment: &Environment,
    ) -> Result<Option<Self>, Failure> {
        let mut known = Self::listed(threads)?;
        known.rye = environment.rye().ok();
        let is_listed = known.store.is_some();
        known.add_unlisted(environment)?;
        known.see_ends()?;
        let threads = known.summaries.iter().map(|summary| summary.thread.clone());
        known.places = threads.zip(0..).collect();
        let has_some = !known.summaries.is_empty() || !known.unreadable.is_empty();
        Ok(Some(known).filter(|_| is_listed || has_some))
    }

    /// Reads the list alone.
    fn listed(threads: PathBuf) -> Result<Self, Failure> {
        let failed = |error: &dyn std::error::Error| Failure::of(error, Exit::Failed);
        let store = StoreView::open(&threads).map_err(|error| failed(&error))?;
        let listed = store.as_ref().map_or_else(|| Ok(Vec::new()), |it| it.registry().list());
        let summaries = listed.map_err(|error| failed(&error))?;
        let (unreadable, places) = (Vec::new(), BTreeMap::new());
        Ok(Self { threads, summaries, places, unreadable, store, rye: None })
    }

    /// Not waited for is the line of the list that says how a thread ended, so that a loss of power may leave an older one. Its
    /// record says how it ended; whoever goes on with it lists that, too.
    fn see_ends(&mut self) -> Result<(), Failure> {
        for place in 0..self.summaries.len() {
            let Some(summary) = self.summaries.get(place).filter(|it| !it.state.is_final()) else {
                continue;
            };
            if self.driver(&summary.thread).is_some() {
                continue;
            }
            // Where nobody knows whom to believe, no record is believed instead of the list.
            let reading = self.rye.as_ref().map(|rye| rye.thread(&self.threads, &summary.thread));
            let Some(Ok(reading)) = reading else { continue };
            if let (true, Some(summary)) =
                (reading.record.state.is_final(), self.summaries.get_mut(place))
            {
                *summary = ThreadSummary::of(&reading.record);
            }
        }
        Ok(())
    }

    /// A folder that was committed or copied holds threads that no registry here has heard of.
    fn add_unlisted(&mut self, environment: &Environment) -> Result<(), Failure> {
        let listed: BTreeSet<&ThreadId> = self.summaries.iter().map(|it| &it.thread).collect();
        let entries = std::fs::read_dir(&self.threads).into_iter().flatten().flatten();
        let named = entries.filter_map(|it| it.file_name().to_str()?.parse::<ThreadId>().ok());
        let mut unlisted: Vec<ThreadId> = named.filter(|it| !listed.contains(it)).collect();
        unlisted.sort();
        for thread in unlisted {
            match environment.rye()?.thread(&self.threads, &thread) {
                Ok(reading) => self.summaries.push(ThreadSummary::of(&reading.record)),
                // What a program left that was killed before the thread began is no thread.
                Err(ThreadReadError::Unbegun { .. }) => {}
                Err(_) => self.unreadable.push(thread),
            }
        }
        self.summaries.sort_by_key(|it| Reverse(it.created));
        Ok(())
    }

    pub(super) fn warn_of_unreadable(&self) {
        let warn = |thread: &ThreadId| {
            format!("thread {thread} cannot be read; `rye threads verify {thread}` says why")
        };
        output::warnings(&self.unreadable.iter().map(warn).collect::<Vec<_>>());
    }

    pub(super) fn find(&self, thread: &ThreadId) -> Option<&ThreadSummary> {
        self.summaries.get(*self.places.get(thread)?)
    }

    /// Whether there is no such thread, neither in the list nor with a record of its own.
    pub(super) fn lacks(&self, thread: &ThreadId) -> bool {
        self.find(thread).is_none() && !self.unreadable.contains(thread)
    }

    /// Returns the newest thread that no other thread started, else the newest of all.
    pub(super) fn newest(&self) -> Result<&ThreadId, Failure> {
        let newest = self.summaries.iter().find(|summary| self.is_first(summary));
        newest.or(self.summaries.first()).map(|summary| &summary.thread).ok_or_else(nothing)
    }

    /// Returns the thread that the command line names, else the newest.
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

    /// Whether no thread that is known started it.
    pub(super) fn is_first(&self, summary: &ThreadSummary) -> bool {
        summary.parent.as_ref().is_none_or(|parent| self.find(parent).is_none())
    }

    /// The process that owns the tree of the thread now. A lock that cannot be read keeps no other thread from being shown.
    pub(super) fn driver(&self, thread: &ThreadId) -> Option<String> {
        let root = thread_root(&self.threads, thread);
        match StoreView::owner(&self.threads, root.as_ref().unwrap_or(thread)) {
            Ok(owner) => owner.map(|owner| owner.to_string()),
            Err(error) => Some(format!("an unknown process: {error}")),
        }
    }

    /// What the thread cost with all below it, by the ledger; by its record, where that has no account of it.
    pub(super) fn spent(&self, thread: &ThreadSummary) -> Result<Nanos, Failure> {
        let Some(store) = &self.store else { return Ok(thread.cost) };
        let spent = store.spent(&thread.thread);
        let spent = spent.map_err(|error| Failure::of(&error, Exit::Failed))?;
        Ok(spent.unwrap_or(thread.cost))
    }

    /// Returns `true` if the thread's verified record says that it used unsigned items; `None` where no record says so that holds.
    pub(super) fn is_unverified(&self, thread: &ThreadId) -> Option<bool> {
        let record = self.rye.as_ref()?.thread_record(&self.threads, thread).ok()?;
        Some(record.facts.get("verified") == Some(&Value::Bool(false)))
    }

    /// How the thread stands, in a word: that nobody drives one which is `running` is what its record cannot say.
    pub(super) fn standing(&self, thread: &ThreadId, state: ThreadState) -> &'static str {
        let may_run = matches!(state, ThreadState::Created | ThreadState::Running);
        if may_run && self.driver(thread).is_none() { STOPPED } else { state.as_str() }
    }

    /// What the operator declares of the machine.
    pub(super) fn store_options(&self) -> StoreOptions {
        self.rye.as_ref().map_or_else(StoreOptions::default, Rye::store_options)
    }
}

pub(super) const STOPPED: &str = "stopped";
