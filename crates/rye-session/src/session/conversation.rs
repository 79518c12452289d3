//! From a thread that was continued to the one that continues it.

use std::collections::BTreeSet;
use std::path::Path;

use rye_thread::transcript::Reading;
use rye_thread::{
    FailureKind, Handover, ThreadId, ThreadRecord, ThreadState, added_items, handed_over,
};

use super::continuing::{Continuation, continuation_inputs};
use super::recorded::recorded_request;
use super::{Host, ReopenError, RunError, RunReport, RunRequest, Store};
use crate::outcome::Class;
use crate::thread_folder::has_record;
use crate::thread_reading::{Found, ThreadReading};
use crate::{Rye, ThreadReadError};

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

/// The thread that an id refers to when it is resumed, after any continuation.
pub(super) enum Latest {
    /// The last thread of the conversation that there is.
    Thread(ThreadId),
    /// The one after it, which was not begun.
    ToBegin(Box<RunRequest>),
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
            let request = self.successor(&before).map_err(|source| RunError::Continue {
                thread: before.clone(),
                source: Box::new(source),
            })?;
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

    /// Follows a conversation to its last thread.
    pub(super) fn latest(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Latest, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        super::refuse_linked_threads(&threads)?;
        let mut last = thread.clone();
        let mut seen = BTreeSet::new();
        loop {
            if !seen.insert(last.clone()) {
                let problem = "it goes on in itself".to_owned();
                return Err(ReopenError::Unrepeatable { thread: last, problem });
            }
            let found = self.found(&threads, &last)?;
            let record = &found.reading.record;
            let next = match record.continued_by.clone() {
                Some(next) if record.state == ThreadState::Continued => next,
                _ => return Ok(Latest::Thread(last)),
            };
            found.into_own(host)?;
            if !self.has_begun(&threads, &next, host)? {
                let request = self.successor(&last).map_err(|source| {
                    ReopenError::Continue(RunError::Continue {
                        thread: last.clone(),
                        source: Box::new(source),
                    })
                })?;
                return Ok(Latest::ToBegin(Box::new(request)));
            }
            last = next;
        }
    }

    /// Follows a conversation to its last thread that has begun.
    pub(super) fn last_begun(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<ThreadId, ReopenError> {
        let mut line = vec![thread.clone()];
        let mut last = thread.clone();
        while let Some(next) = self.next_of(&last, host)?.filter(|next| !line.contains(next)) {
            line.push(next.clone());
            last = next;
        }
        Ok(last)
    }

    /// The thread that goes on where this one ended, if it has begun and says the same of itself.
    pub(super) fn next_of(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<Option<ThreadId>, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        super::refuse_linked_threads(&threads)?;
        let before = self.found(&threads, thread)?.reading.record;
        let is_continued = before.state == ThreadState::Continued;
        let Some(next) = before.continued_by.as_ref().filter(|_| is_continued) else {
            return Ok(None);
        };
        if !self.has_begun(&threads, next, host)? {
            return Ok(None);
        }
        let after = self.found(&threads, next)?.reading.record;
        Ok(goes_on(&before, &after).then(|| next.clone()))
    }

    /// Returns `true` if anything can have happened in a thread. One that could not be prepared has a beginning and an end alone.
    pub(super) fn has_begun(
        &self,
        threads: &Path,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<bool, ReopenError> {
        if !has_record(&threads.join(thread.as_str())) {
            return Ok(false);
        }
        let found = self.found(threads, thread)?;
        let reading = &found.reading;
        let failure = reading.record.failure.as_ref().map(|failure| &failure.kind);
        let has_failed = found.is_own(host) && failure == Some(&FailureKind::Preparation);
        Ok(!(has_failed && never_began(&reading.transcript)))
    }

    /// Returns the successor of this thread, if it was not begun yet, with the record of this
    /// thread. If the operator has a key, only a record that this key signed counts.
    pub(super) fn unbegun(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<Option<(ThreadId, ThreadReading)>, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let before = self.found(&threads, thread)?;
        let is_ours = before.is_own(host);
        let before = before.reading;
        let is_continued = before.record.state == ThreadState::Continued;
        let next = before.record.continued_by.clone().filter(|_| is_ours && is_continued);
        match next {
            Some(next) if !self.has_begun(&threads, &next, host)? => Ok(Some((next, before))),
            _ => Ok(None),
        }
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

/// Returns `true` if a transcript has no more than a short beginning and an end. No model was asked and no tool ran.
pub(super) fn never_began(transcript: &Reading) -> bool {
    transcript.records.iter().all(|record| SHORT.contains(&record.event.as_str()))
}

/// The events of a thread that ended before it began.
const SHORT: [&str; 3] = ["thread_start", "checkpoint", "thread_error"];

/// Returns `true` if the record of `after` names `before` as its predecessor, under the same
/// parent.
pub(super) fn goes_on(before: &ThreadRecord, after: &ThreadRecord) -> bool {
    after.continues.as_ref() == Some(&before.thread) && after.parent == before.parent
}
