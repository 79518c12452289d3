//! A thread ended for good by somebody else than itself, and all that stand below it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::budget::LedgerError;
use rye_thread::store::Claim;
use rye_thread::transcript::Reading;
use rye_thread::{
    JournalError, Limits, Moment, Nanos, ThreadId, ThreadRecord, ThreadState, ThreadSummary,
    handed_over, recorded_end, settle_left,
};
use serde_json::{Value, json};

use super::{Again, ReopenError};
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
    /// When the thread and all below it have ended, which a thread whose transcript holds an end has; or when a record was changed.
    pub fn cancel(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Cancelled, ReopenError> {
        host.clock.now().checked()?;
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
        let below = self.end_below(&line, host, store, key);
        // What is set aside below one that cannot be ended is nobody's, either.
        self.close_accounts(&line, store)?;
        let ended = Cancelled { went_on_in: last.cloned(), below: below? };
        Ok((ended, had_ended))
    }

    fn close_accounts(&self, line: &[ThreadId], store: &Store) -> Result<(), ReopenError> {
        // The lowest first: what an account below has still set aside when one is closed counts as spent. Also of those that had
        // ended before: whoever ended them may have got no further.
        let below = lowest_first(&self.below(line, store)?);
        for each in below.iter().chain(line.iter().rev()) {
            match store.ledger().close_child(each) {
                // A thread that nobody started has no account in another one's, and one that was killed early has none at all.
                Ok(_) | Err(LedgerError::UnknownAccount { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
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
        let mut again = Again::default();
        loop {
            line.push(last.clone());
            let error = match self.end(&last, host, store, key, &mut again) {
                Ok(()) => return Ok((line, None)),
                Err(error @ ReopenError::Ended { .. }) => error,
                Err(error) => return Err(error),
            };
            match self.end_next(&last, host, store, key, &mut again)? {
                Some(Next::Begun(next)) if !line.contains(&next) => last = next,
                Some(Next::Ended(next)) => {
                    line.push(next);
                    return Ok((line, None));
                }
                _ => return Ok((line, Some(error))),
            }
        }
    }

    /// The thread after this one, which is ended where nobody has begun it; whoever is about to begin it may do so meanwhile, and
    /// it is looked at again.
    fn end_next(
        &self,
        last: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
        again: &mut Again,
    ) -> Result<Option<Next>, ReopenError> {
        loop {
            let next = match self.next_of(last, host)? {
                None => self.end_unbegun(last, host, store, key),
                next => return Ok(next.map(Next::Begun)),
            };
            match next {
                // Somebody may have begun it since it was looked for.
                Ok(None) => return Ok(self.next_of(last, host)?.map(Next::Begun)),
                Err(error) if again.looks_after(&error, false) => {}
                next => return next,
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
            let is_new =
                |row: &ThreadSummary| !seen.contains(&row.thread) && self.may_go_on(row, store);
            let Some(next) = below.into_iter().find(is_new) else {
                return failed.map_or(Ok(ended), Err);
            };
            seen.insert(next.thread.clone());
            match self.end_line(&next.thread, host, store, key) {
                Ok((line, had_ended)) => {
                    // One that ended by itself meanwhile has what was wanted of it.
                    ended.extend(line.last().filter(|_| had_ended.is_none()).cloned());
                    seen.extend(line);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }

    /// Whether anything may still happen in a thread, or after it; of one that ended by its line alone, its record says.
    fn may_go_on(&self, row: &ThreadSummary, store: &Store) -> bool {
        let may = |state: ThreadState| !state.is_final() || state == ThreadState::Continued;
        let found = || self.found(&store.folder, &row.thread);
        may(row.state) || found().is_ok_and(|found| may(found.reading.record.state))
    }

    /// Ends one thread, which somebody else may be about to end, or to leave.
    fn end(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
        again: &mut Again,
    ) -> Result<(), ReopenError> {
        loop {
            // Also one that should have been done long ago.
            let driver = store.threads.driver(thread, Moment::from_unix_millis(i64::MIN));
            let was_driven = driver.is_ok_and(|driver| driver.is_some());
            match self.end_now(thread, host, store, key, again) {
                Err(error) if again.is_done(&error) => return Ok(()),
                Err(error) if again.looks_after(&error, was_driven) => {}
                ended => return ended,
            }
        }
    }

    /// Ends one thread, also one that only its own key vouches for: nothing is made of what it says, and it would go on otherwise.
    /// One whose transcript holds an end already keeps that. What its program had set aside for requests that were never sent is
    /// free in its own account; that account is closed by whoever has ended all below it.
    fn end_now(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
        again: &Again,
    ) -> Result<(), ReopenError> {
        let mut reopened = self.reopened(thread, host)?;
        // An operator's key vouches for nothing that it did not vouch for before.
        let key = key.filter(|_| !reopened.is_operators && host.signing_key.is_none());
        if let Some(key) = key {
            reopened.key = Arc::clone(key);
        }
        let now = host.clock.now();
        // Nobody takes a thread from who is about to end it, too, or the two would keep each other from it; unless that program hangs.
        let driver = store.threads.driver(thread, now).map_err(JournalError::from)?;
        let is_ending = driver.is_some_and(|driver| driver == ENDING) && !again.is_last();
        let record = reopened.record.clone();
        let (journal, reading) = reopened.journal_to_end(store, &claim(now, is_ending))?;
        let cost = self.settled_cost(&record, &reading, store, host)?;
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
        host: &Host<'_>,
    ) -> Result<Nanos, ReopenError> {
        let told = self.cost(reading, store, host).unwrap_or(record.cost);
        if told == Nanos::ZERO {
            settle_left(&record.thread, reading, store.ledger())?;
        } else {
            match self.account(record, reading, store, host) {
                // Whoever goes on with what stands above it reads its record.
                Ok(())
                | Err(LedgerError::UnknownAccount { .. } | LedgerError::Exhausted { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(store.spent(&record.thread)?.unwrap_or(told))
    }
}

/// Who a thread is driven by that is about to be ended.
pub(in crate::session) const ENDING: &str = "`rye cancel`";

/// A claim at a time that is later than any lease lasts, unless somebody is waited for. It lapses where nobody sees that this program
/// has died.
fn claim(now: Moment, waits: bool) -> Claim {
    let at = if waits { now } else { Moment::from_unix_millis(i64::MAX) };
    let until = Moment::from_unix_millis(now.as_unix_millis().saturating_add(MILLIS));
    Claim::new(ENDING, at, until)
}

/// What ending a thread takes at most.
const MILLIS: i64 = 60_000;

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
