//! A thread ended for good by somebody else than itself, and all that stand below it.

use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::budget::{Ledger as _, LedgerError};
use rye_thread::store::{Claim, Store as _};
use rye_thread::{JournalError, Moment, ThreadId, ThreadSummary, settle_left};

use super::ReopenError;
use crate::Rye;
use crate::session::{Host, Store};

impl Rye {
    /// Ends a thread and those below it, and gives the latter; a thread that another program drives is taken over, and that
    /// program stops where it next writes.
    ///
    /// Of a thread that was continued, the one is ended in which its conversation goes on; that one comes first.
    ///
    /// # Errors
    ///
    /// When the thread has ended, or its record was changed.
    pub fn cancel(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Vec<ThreadId>, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.opened(&threads)?;
        match self.end_all(thread, host, &store, None)? {
            (ended, Some(error)) if ended.is_empty() => Err(error),
            (ended, _) => Ok(ended),
        }
    }

    /// Ends a conversation from this thread on and all below it, and closes their accounts. Gives what was ended beside the thread
    /// itself, and how the conversation had ended before, where it had.
    pub(in crate::session) fn end_all(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(Vec<ThreadId>, Option<ReopenError>), ReopenError> {
        // The thread first, so that it starts no more while those below it are ended. Whoever ended it before may have been
        // stopped before those below it were ended.
        let (line, had_ended) = self.end_line(thread, host, store, key)?;
        let last = line.last().filter(|last| had_ended.is_none() && *last != thread);
        let mut ended: Vec<ThreadId> = last.cloned().into_iter().collect();
        ended.extend(self.end_below(&line, host, store, key)?);
        // The lowest first: what an account below has still set aside when one is closed counts as spent. Also of those that had
        // ended before: whoever ended them may have got no further.
        let below = lowest_first(&self.below(&line, store)?);
        for each in below.iter().chain(line.iter().rev()) {
            match store.threads.close_child(each) {
                // A thread that nobody started has no account in another one's, and one that was killed early has none at all.
                Ok(_) | Err(LedgerError::UnknownAccount { .. }) => {}
                Err(error) => return Err(ReopenError::Store(error.into())),
            }
        }
        Ok((ended, had_ended))
    }

    /// Ends the last thread of a conversation, wherever it has got to by then; gives its threads from this one on.
    fn end_line(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(Vec<ThreadId>, Option<ReopenError>), ReopenError> {
        let (mut line, mut last) = (Vec::new(), thread.clone());
        loop {
            line.push(last.clone());
            let error = match self.end(&last, host, store, key) {
                Ok(()) => return Ok((line, None)),
                Err(error @ ReopenError::Ended { .. }) => error,
                Err(error) => return Err(error),
            };
            match self.next_of(&last, host)?.filter(|next| !line.contains(next)) {
                Some(next) => last = next,
                None => return Ok((line, Some(error))),
            }
        }
    }

    /// Looks again after each that was ended: until then it may have started another one. One that cannot be ended keeps no other
    /// from it, and is told in the end.
    fn end_below(
        &self,
        line: &[ThreadId],
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<Vec<ThreadId>, ReopenError> {
        let (mut ended, mut failed) = (Vec::new(), None);
        loop {
            let below = self.below(line, store)?;
            let is_new = |thread: &ThreadId| !ended.contains(thread);
            let next = below.into_iter().find(|row| !row.state.is_final() && is_new(&row.thread));
            let Some(next) = next else { return failed.map_or(Ok(ended), Err) };
            match self.end(&next.thread, host, store, key) {
                // One that ended by itself meanwhile has what was wanted of it.
                Ok(()) | Err(ReopenError::Ended { .. }) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
            ended.push(next.thread);
        }
    }

    /// Ends one thread, also one that only its own key vouches for: nothing is made of what it says, and it would go on otherwise.
    /// What its program had set aside for requests that were never sent is free in its own account; that account
    /// is closed by whoever has ended all below it.
    fn end(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(), ReopenError> {
        let mut reopened = self.reopened(thread, host)?;
        // An operator's key vouches for nothing that it did not vouch for before.
        let key = key.filter(|_| !reopened.is_operators && host.signing_key.is_none());
        if let Some(key) = key {
            reopened.key = Arc::clone(key);
        }
        let now = host.clock.now();
        // Later than any lease lasts.
        let claim = Claim::new("`rye cancel`", Moment::from_unix_millis(i64::MAX), now);
        let lease = store.threads.acquire(thread, &claim).map_err(JournalError::from)?;
        store.threads.release(&lease).map_err(JournalError::from)?;
        let recorded = reopened.record.cost;
        let (journal, reading) = reopened.journal(store, now)?;
        settle_left(thread, &reading, &*store.threads)
            .map_err(|error| ReopenError::Store(error.into()))?;
        // One that was stopped before it had an account has cost nothing.
        let spent = store.threads.spent(thread).map_err(JournalError::from)?;
        journal.cancel(spent.unwrap_or(recorded), now)?;
        Ok(())
    }
}

/// Threads below others first, and of those beside each other the newest: one that goes on with a conversation has its account
/// in that of the one before it.
fn lowest_first(below: &[ThreadSummary]) -> Vec<ThreadId> {
    let depth = |row: &ThreadSummary| {
        let above = |row: &&ThreadSummary| {
            below.iter().find(|above| row.parent.as_ref() == Some(&above.thread))
        };
        std::iter::successors(Some(row), |row| above(row)).take(below.len()).count()
    };
    let mut ranked: Vec<(usize, &ThreadId)> =
        below.iter().map(|row| (depth(row), &row.thread)).collect();
    ranked.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
    ranked.into_iter().map(|(_, thread)| thread.clone()).collect()
}
