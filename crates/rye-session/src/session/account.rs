//! The money of a thread tree, by the transcripts of its threads (SPEC 10.6).

use std::borrow::Cow;
use std::path::Path;

use rye_thread::transcript::Reading;
use rye_thread::{Account, AccountError, FoundTranscript, ThreadId, TreeAccount};
use rye_types::Nanos;

use super::Host;
use crate::rye::Rye;
use crate::thread_reading::Found;
use crate::thread_reading::ThreadReadError;

impl Rye {
    /// Computes the cost and the reservations of a thread, of the threads that continue its conversation, and of their descendants
    /// (SPEC 10.6). Their verified transcripts are below `threads`, the folder of all threads.
    ///
    /// # Errors
    ///
    /// When nothing bounds the cost of a child whose transcript cannot be read.
    pub fn thread_account(
        &self,
        threads: &Path,
        transcript: &Reading,
    ) -> Result<Account, AccountError> {
        Account::from_transcripts(transcript, &|thread| self.transcript(threads, thread, Some))
    }

    /// Folds the account of a thread and all below it. Where the operator has a key, a child counts as unreadable unless that key
    /// signed it.
    pub(super) fn fold_account(
        &self,
        threads: &Path,
        transcript: &Reading,
        host: &Host<'_>,
    ) -> Result<TreeAccount, AccountError> {
        let own = |found: Found| found.is_own(host).then_some(found);
        TreeAccount::from_transcripts(transcript, &|thread| self.transcript(threads, thread, own))
    }

    /// The cost of a thread with all below it; where one below it has no bound and cannot be read, without that one.
    pub(super) fn cost(&self, threads: &Path, transcript: &Reading, host: &Host<'_>) -> Nanos {
        let Some(thread) = transcript.records.first().map(|record| &record.thread) else {
            return Nanos::ZERO;
        };
        let alone = || TreeAccount::from_transcripts(transcript, &|_| FoundTranscript::Absent);
        let folded = self.fold_account(threads, transcript, host).or_else(|_| alone());
        let account = folded.ok().and_then(|tree| tree.account(thread));
        account.map_or(Nanos::ZERO, |account| account.cost)
    }

    fn transcript(
        &self,
        threads: &Path,
        thread: &ThreadId,
        accept: impl Fn(Found) -> Option<Found>,
    ) -> FoundTranscript<'static> {
        if !threads.join(thread.as_str()).exists() {
            return FoundTranscript::Absent;
        }
        match self.found(threads, thread).map(accept) {
            Err(ThreadReadError::Unbegun { .. }) => FoundTranscript::Absent,
            Ok(Some(found)) => FoundTranscript::Transcript(Cow::Owned(found.reading.transcript)),
            Ok(None) | Err(_) => FoundTranscript::Unreadable,
        }
    }
}
