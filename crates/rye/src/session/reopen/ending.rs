//! A thread ended for good by somebody else than itself, and all that stand below it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::budget::{Ledger as _, LedgerError};
use rye_thread::store::{Claim, Store as _};
use rye_thread::transcript::Reading;
use rye_thread::{
    JournalError, Limits, Moment, Nanos, ThreadId, ThreadRecord, ThreadState, ThreadSummary,
    handed_over, recorded_end, settle_left,
};
use serde_json::{Value, json};

use super::{ReopenError, steadily};
use crate::Rye;
use crate::session::facts::{self, SIGNED_BY};
use crate::session::{Host, Store, own_key};

/// What ended with a thread that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancelled {
    /// The thread that was ended in its stead, because its conversation went on there.
    pub went_on_in: Option<ThreadId>,
    /// The threads below it that were ended, too.
    pub below: Vec<ThreadId>,
}

impl Cancelled {
    /// The same JSON on all surfaces (SPEC 12.4), of the thread that was to be ended.
    #[must_use]
    pub fn to_json(&self, thread: &ThreadId) -> Value {
        let below: Vec<&str> = self.below.iter().map(ThreadId::as_str).collect();
        json!({
            "thread": thread.as_str(),
            "state": "cancelled",
            "went_on_in": self.went_on_in.as_ref().map(ThreadId::as_str),
            "cancelled_below": below,
        })
    }
}

impl Rye {
    /// Ends a thread and those below it; a thread that another program drives is taken over, and that program stops where it next
    /// writes.
    ///
    /// Of a thread that was continued, the one is ended in which its conversation goes on, also where that was never begun.
    ///
    /// # Errors
    ///
    /// When the thread has ended, or its record was changed.
    pub fn cancel(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Cancelled, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.opened(&threads)?;
        match self.end_all(thread, host, &store, None)? {
            (ended, Some(error)) if ended.below.is_empty() => Err(error),
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
    ) -> Result<(Cancelled, Option<ReopenError>), ReopenError> {
        // The thread first, so that it starts no more while those below it are ended. Whoever ended it before may have been
        // stopped before those below it were ended.
        let (line, had_ended) = self.end_line(thread, host, store, key)?;
        let last = line.last().filter(|last| had_ended.is_none() && *last != thread);
        let below = self.end_below(&line, host, store, key)?;
        let ended = Cancelled { went_on_in: last.cloned(), below };
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
            let error = match steadily(|| self.end(&last, host, store, key)) {
                Ok(()) => return Ok((line, None)),
                Err(error @ ReopenError::Ended { .. }) => error,
                Err(error) => return Err(error),
            };
            let next = match self.next_of(&last, host)? {
                None => self.end_unbegun(&last, host, store, key)?,
                next => next.map(Next::Begun),
            };
            match next {
                Some(Next::Begun(next)) if !line.contains(&next) => last = next,
                Some(Next::Ended(next)) => {
                    line.push(next);
                    return Ok((line, None));
                }
                _ => return Ok((line, Some(error))),
            }
        }
    }

    /// Ends the thread in which a conversation would go on and that nobody has begun: it gets a record that says so, and is never
    /// begun then.
    fn end_unbegun(
        &self,
        before: &ThreadId,
        host: &Host<'_>,
        store: &Store,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<Option<Next>, ReopenError> {
        let Some((next, before)) = self.unbegun(before, host)? else { return Ok(None) };
        if !self.make_room(&next, host)? {
            return Ok(Some(Next::Begun(next)));
        }
        let key = host.signing_key.as_ref().or(key).cloned().map_or_else(own_key, Ok)?;
        let limits = handed_over(&before.transcript).map_or_else(Limits::default, |it| it.limits);
        let (directive, now) = (&before.record.directive, host.clock.now());
        let mut record = ThreadRecord::new(&next, directive, &limits, now);
        record.parent = before.record.parent;
        record.continues = Some(before.record.thread);
        let signed_by = facts::signed_by(&key, host.signing_key.is_some());
        record.facts.insert(SIGNED_BY.to_owned(), signed_by);
        let journal = store.journal(&store.folder, record, key)?;
        journal.cancel(Nanos::ZERO, now)?;
        Ok(Some(Next::Ended(next)))
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
        let (mut ended, mut seen, mut failed) = (Vec::new(), BTreeSet::new(), None);
        let mut parents = BTreeSet::new();
        loop {
            let below = self.below(line, store)?;
            let known = line.iter().chain(below.iter().map(|row| &row.thread));
            let new: Vec<ThreadId> =
                known.filter(|thread| !parents.contains(*thread)).cloned().collect();
            if self.list_all_begun(&new, store)? {
                continue;
            }
            parents.extend(new);
            let may_go_on =
                |state: ThreadState| !state.is_final() || state == ThreadState::Continued;
            let is_new = |row: &ThreadSummary| may_go_on(row.state) && !seen.contains(&row.thread);
            let next = below.into_iter().find(is_new);
            let Some(ThreadSummary { thread, state, .. }) = next else {
                return failed.map_or(Ok(ended), Err);
            };
            let done = match state {
                ThreadState::Continued => self.end_unbegun(&thread, host, store, key),
                _ => {
                    let ended = steadily(|| self.end(&thread, host, store, key));
                    ended.map(|()| Some(Next::Ended(thread.clone())))
                }
            };
            match done {
                Ok(Some(Next::Ended(thread))) => ended.push(thread),
                // One that ended by itself meanwhile has what was wanted of it.
                Ok(_) | Err(ReopenError::Ended { .. }) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
            seen.insert(thread);
        }
    }

    /// Ends one thread, also one that only its own key vouches for: nothing is made of what it says, and it would go on otherwise.
    /// One whose transcript holds an end already keeps that. What its program had set aside for requests that were never sent is
    /// free in its own account; that account is closed by whoever has ended all below it.
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
        let record = reopened.record.clone();
        let (journal, reading) = reopened.journal(store, now)?;
        let cost = self.settled_cost(&record, &reading, store)?;
        let Some(end) = recorded_end(&reading) else { return Ok(journal.cancel(cost, now)?) };
        // Its program was stopped while it wrote down its end, which is what it comes to.
        let (thread, state) = (thread.clone(), end.state());
        journal.close(end, cost, now)?;
        Err(ReopenError::Ended { thread, state })
    }
}

impl Rye {
    /// What a thread that is ended has cost, settled in its account. One that was stopped before it had an account has cost
    /// nothing; where the ledger is another one than it ran with, its records tell.
    fn settled_cost(
        &self,
        record: &ThreadRecord,
        reading: &Reading,
        store: &Store,
    ) -> Result<Nanos, ReopenError> {
        let failed = |error: LedgerError| ReopenError::Store(error.into());
        let told = self.told_cost(record, reading, store);
        if told == Nanos::ZERO {
            settle_left(&record.thread, reading, &*store.threads).map_err(failed)?;
        } else {
            match self.account(record, reading, store) {
                // Whoever goes on with what stands above it reads its record.
                Ok(())
                | Err(LedgerError::UnknownAccount { .. } | LedgerError::Exhausted { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let spent = store.spent(&record.thread).map_err(failed)?;
        Ok(spent.unwrap_or(told))
    }
}

/// The thread in which a conversation goes on.
enum Next {
    /// Somebody has begun it.
    Begun(ThreadId),
    /// Nobody has, and nobody will.
    Ended(ThreadId),
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
