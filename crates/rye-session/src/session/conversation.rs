//! From a thread that was continued to the one that continues it.

use std::collections::BTreeSet;
use std::path::Path;

use rye_project::Class;
use rye_thread::transcript::{EventKind, Reading};
use rye_thread::{FailureKind, Handover, ThreadId, ThreadRecord, added_items, handed_over};
use rye_types::ThreadState;

use super::continuing::continuation_inputs;
use super::recorded::recorded_request;
use super::{Continuation, Host, ReopenError, RunError, RunReport, RunRequest, Store};
use crate::rye::Rye;
use crate::thread_folder::has_record;
use crate::thread_reading::ThreadReadError;
use crate::thread_reading::{Found, ThreadReading};

/// The problem with a transcript of which an item cannot be read that a call added to the conversation.
pub(super) const UNREADABLE_ITEM: &str =
    "an item that a call added cannot be read in its transcript";

/// Why a thread that was continued has no next one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContinueError {
    /// There is no project.
    #[error("no project here: no folder above has an `.ai` folder")]
    NoProject,
    /// The record of the continued thread cannot be read, or is not as a run wrote it.
    #[error(transparent)]
    Read(#[from] ThreadReadError),
    /// The record does not say how to go on.
    #[error("its record does not say how to go on: {problem}")]
    Unrepeatable {
        /// The problem, in words.
        problem: String,
    },
}

impl ContinueError {
    /// Returns the class of the error, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::NoProject => Class::Usage,
            Self::Read(error) if error.is_tampering() => Class::Refused,
            Self::Read(_) | Self::Unrepeatable { .. } => Class::Failed,
        }
    }
}

/// The threads that continue each other, from one of them to the last that has a record.
pub(crate) struct Conversation {
    /// The oldest first, and never none.
    threads: Vec<Found>,
}

/// The thread that an id refers to when it is resumed, after any continuation.
pub(super) enum Latest {
    /// The last thread of the conversation that there is.
    Thread(ThreadId),
    /// The one after it, which was not begun.
    ToBegin(Box<RunRequest>),
}

impl Conversation {
    /// Reads and verifies the conversation from `thread` on.
    ///
    /// # Errors
    ///
    /// When a thread cannot be read, or does not name the one before it as its predecessor.
    pub(crate) fn load(rye: &Rye, thread: &ThreadId) -> Result<Self, ReopenError> {
        let folder = rye.threads().ok_or(ReopenError::NoProject)?;
        super::refuse_linked_threads(&folder)?;
        let mut threads = vec![rye.found(&folder, thread)?];
        let mut seen = BTreeSet::from([thread.clone()]);
        while let Some(last) = threads.last()
            && let Some(next) = successor_of(&last.reading.record)
            && has_record(&folder.join(next.as_str()))
        {
            if !seen.insert(next.clone()) {
                let problem = "it goes on in itself".to_owned();
                return Err(ReopenError::Unrepeatable { thread: next.clone(), problem });
            }
            let next = rye.found(&folder, next)?;
            threads.push(next);
        }
        let records = threads.iter().map(|found| &found.reading.record);
        let mut pairs = records.clone().zip(records.skip(1));
        match pairs.find(|(before, after)| !continues(before, after)) {
            None => Ok(Self { threads }),
            Some((before, after)) => {
                let (thread, next) = (before.thread.clone(), after.thread.clone());
                Err(ReopenError::NotItsSuccessor { thread, next })
            }
        }
    }

    /// Leaves out a last thread that failed before it began, so that it is begun again.
    ///
    /// A record of another key tells nothing of that.
    pub(crate) fn without_failed_start(mut self, host: &Host<'_>) -> Self {
        if 1 < self.threads.len() && self.threads.last().is_some_and(|last| is_unbegun(last, host))
        {
            self.threads.pop();
        }
        self
    }

    /// Returns the last thread.
    pub(crate) fn last(&self) -> &ThreadReading {
        &self.threads.last().expect("because there is at least one").reading
    }

    /// Returns the ids of the threads.
    pub(crate) fn ids(&self) -> Vec<ThreadId> {
        self.threads.iter().map(|found| found.reading.record.thread.clone()).collect()
    }

    /// Returns the successor of the last thread, which has no record yet. For an operator with a key, only records that this
    /// key signed name one.
    pub(crate) fn successor(&self, host: &Host<'_>) -> Option<&ThreadId> {
        let last = self.threads.last().filter(|last| last.is_own(host))?;
        successor_of(&last.reading.record)
    }

    /// Returns the threads for a process that acts on what they say.
    ///
    /// # Errors
    ///
    /// When the operator has a key and that key did not sign all of them.
    pub(crate) fn into_own(self, host: &Host<'_>) -> Result<Vec<ThreadReading>, ReopenError> {
        self.threads.into_iter().map(|found| found.into_own(host)).collect()
    }
}

impl Found {
    /// Returns the thread for a process that acts on what the thread says.
    ///
    /// # Errors
    ///
    /// When the operator has a key and that key did not sign all of it.
    pub(crate) fn into_own(self, host: &Host<'_>) -> Result<ThreadReading, ReopenError> {
        if self.is_own(host) {
            return Ok(self.reading);
        }
        let thread = self.reading.record.thread.clone();
        Err(match self.foreign_signer(host) {
            None => ReopenError::SelfVouched { thread },
            Some(signer) => ReopenError::OtherKey { thread, key_id: signer.to_string() },
        })
    }
}

impl Rye {
    /// Runs the threads that go on with the conversation of one that was continued, one after the other.
    ///
    /// What each used is taken from the limits of the next, so that the limit on turns bounds how many there are.
    pub(super) async fn go_on(
        &self,
        mut report: RunReport,
        host: Host<'_>,
    ) -> Result<RunReport, RunError> {
        while report.outcome.state == ThreadState::Continued {
            let before = report.thread.clone();
            let request = self.successor_of(&before)?;
            let mut continues = std::mem::take(&mut report.continues);
            // Until the next one owns the tree, too.
            let owned = report.tree.take();
            let next = self.begin(&request, host.clone()).await?;
            drop(owned);
            continues.push(before);
            report = RunReport { continues, ..next };
        }
        Ok(report)
    }

    /// The request for the thread that continues this one.
    fn successor_of(&self, thread: &ThreadId) -> Result<RunRequest, RunError> {
        self.successor(thread).map_err(|source| RunError::Continue {
            thread: thread.clone(),
            source: Box::new(source),
        })
    }

    /// The request for the thread that continues this one, according to its record.
    pub(super) fn successor(&self, thread: &ThreadId) -> Result<RunRequest, ContinueError> {
        let threads = self.threads().ok_or(ContinueError::NoProject)?;
        let Found { reading, .. } = self.found(&threads, thread)?;
        let unrepeatable = |problem| ContinueError::Unrepeatable { problem };
        let lacks = || unrepeatable("its transcript does not end in a continuation".to_owned());
        let Handover { thread: next, limits, .. } =
            handed_over(&reading.transcript).ok_or_else(lacks)?;
        let mut request = recorded_request(&reading.record).map_err(unrepeatable)?;
        if request.tool.is_some() {
            return Err(unrepeatable("a thread of `rye call` has no successor".to_owned()));
        }
        let inputs = continuation_inputs(&reading.record, &reading.transcript);
        request.thread = next;
        let unreadable = || unrepeatable(UNREADABLE_ITEM.to_owned());
        let before = request.continues.take().map(|continuation| continuation.added);
        let added =
            [before.unwrap_or_default(), added_items(&reading.transcript).ok_or_else(unreadable)?];
        let added = added.concat();
        let thread = thread.clone();
        let root = reading.record.root.clone();
        request.continues = Some(Continuation { thread, root, limits, inputs, added });
        Ok(request)
    }

    /// Follows a conversation to its last thread, or to the successor of that, which was not begun.
    pub(super) fn latest(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Latest, ReopenError> {
        let conversation = Conversation::load(self, thread)?.without_failed_start(host);
        let last = conversation.last().record.thread.clone();
        let is_to_begin = successor_of(&conversation.last().record).is_some();
        let is_continued = |found: &Found| found.reading.record.state == ThreadState::Continued;
        let continued = conversation.threads.into_iter().filter(is_continued);
        for thread in continued {
            thread.into_own(host)?;
        }
        match is_to_begin {
            true => Ok(Latest::ToBegin(Box::new(self.successor_of(&last)?))),
            false => Ok(Latest::Thread(last)),
        }
    }

    /// Returns the last thread of a conversation that has begun.
    pub(super) fn last_begun(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<ThreadId, ReopenError> {
        Ok(Conversation::load(self, thread)?
            .without_failed_start(host)
            .last()
            .record
            .thread
            .clone())
    }

    /// Returns `true` if anything can have happened in a thread. One that could not be prepared has a beginning and an end alone.
    fn has_begun(
        &self,
        threads: &Path,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<bool, ReopenError> {
        let has_record = has_record(&threads.join(thread.as_str()));
        Ok(has_record && !is_unbegun(&self.found(threads, thread)?, host))
    }

    /// Clears the place of a thread that is begun another time, in a tree that this process owns. Gives `false` and does nothing
    /// if the thread has begun.
    pub(super) fn make_room(
        &self,
        thread: &ThreadId,
        store: &Store,
        host: &Host<'_>,
    ) -> Result<bool, ReopenError> {
        let has_begun = self.has_begun(&store.folder, thread, host)?;
        if !has_begun {
            let forgotten = store.forget_failed(thread);
            forgotten.map_err(|error| ReopenError::Store(Box::new(error)))?;
        }
        Ok(!has_begun)
    }
}

/// Returns the thread that continues this one, according to its record.
pub(super) fn successor_of(record: &ThreadRecord) -> Option<&ThreadId> {
    record.continued_by.as_ref().filter(|_| record.state == ThreadState::Continued)
}

/// Returns `true` if a thread failed in its preparation, according to a record of the operator's.
fn is_unbegun(found: &Found, host: &Host<'_>) -> bool {
    let reading = &found.reading;
    let failure = reading.record.failure.as_ref().map(|failure| &failure.kind);
    found.is_own(host)
        && failure == Some(&FailureKind::Preparation)
        && never_began(&reading.transcript)
}

/// Returns `true` if a transcript has no more than a short beginning and an end. No model was asked and no tool ran.
pub(super) fn never_began(transcript: &Reading) -> bool {
    let is_short = |kind: EventKind| {
        matches!(kind, EventKind::ThreadStart | EventKind::Checkpoint | EventKind::ThreadError)
    };
    transcript.records.iter().all(|record| is_short(record.kind))
}

/// Returns `true` if the record of `after` names `before` as its predecessor, under the same
/// parent.
pub(super) fn continues(before: &ThreadRecord, after: &ThreadRecord) -> bool {
    after.continues.as_ref() == Some(&before.thread) && after.parent == before.parent
}
