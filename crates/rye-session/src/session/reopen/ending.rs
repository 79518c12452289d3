//! A thread ended for good by the operator, and all that stand below it.

use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::store::ThreadRequest;
use rye_thread::{ThreadId, ThreadRecord, handed_over, recorded_end};
use rye_types::{LimitSet, Nanos, ThreadState};
use serde_json::{Value, json};

use super::ReopenError;
use super::asking::{Answer, AskedTree, is_held};
use super::below::Below;
use crate::rye::Rye;
use crate::session::conversation::Conversation;
use crate::session::facts::{self, SIGNED_BY};
use crate::session::{Host, Store, own_key};

/// The threads that ended with a cancelled thread.
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
    /// Ends a thread and those below it. The process that drives a thread is asked to end it.
    ///
    /// Of a thread that was continued, the one is ended in which its conversation goes on, also where that was never begun.
    ///
    /// # Errors
    ///
    /// The method fails if the thread and its descendants have ended, or if a record was changed. A thread has ended if its transcript
    /// holds an end. It fails too if the process that drives the thread does not answer within five seconds.
    pub fn cancel(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Cancelled, ReopenError> {
        host.clock.now().validate()?;
        match self.own_tree(thread) {
            Ok((store, tree)) => {
                let changing = tree.change();
                if !tree.is_driven() {
                    return self.cancel_owned(thread, host, &store);
                }
                drop(changing);
                self.ask_to_cancel(thread, host, &store)
            }
            Err(error) if is_held(&error) => {
                let threads = self.threads().ok_or(ReopenError::NoProject)?;
                self.ask_to_cancel(thread, host, &self.open_store(&threads)?)
            }
            Err(error) => Err(error),
        }
    }

    fn cancel_owned(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
    ) -> Result<Cancelled, ReopenError> {
        match self.end_all(thread, host, store, None)? {
            (ended, Some(error)) if ended.below.is_empty() => Err(error),
            (ended, _) => Ok(ended),
        }
    }

    /// Has the process that owns the tree end the thread, and ends what is left once that process has ended.
    fn ask_to_cancel(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
    ) -> Result<Cancelled, ReopenError> {
        let root = self.found(&store.folder, thread)?.reading.record.root;
        let state = |thread: &ThreadId| {
            Ok::<_, ReopenError>(self.found(&store.folder, thread)?.reading.record.state)
        };
        let first = self.last_begun(thread, host)?;
        let is_over = |state: ThreadState| state.is_final() && state != ThreadState::Continued;
        let open: Vec<ThreadId> = self
            .below(std::slice::from_ref(thread), store)
            .into_iter()
            .filter(|below| below.state.is_some_and(|state| !is_over(state)))
            .map(|below| below.thread)
            .collect();
        if is_over(state(&first)?) && open.is_empty() {
            return Err(ReopenError::Ended { state: state(&first)?, thread: first });
        }
        let request = || Ok(ThreadRequest::cancel(self.last_begun(thread, host)?));
        let recorded = || {
            let last = self.last_begun(thread, host)?;
            let is_ended = is_over(state(&last)?)
                && open.iter().all(|it| state(it).is_ok_and(ThreadState::is_final));
            Ok(is_ended.then_some(last))
        };
        let asked = AskedTree { store, root: &root, host };
        match asked.ask(request, recorded)? {
            Answer::Free(_tree) => self.cancel_owned(thread, host, store),
            Answer::Recorded(last) => {
                let cancelled =
                    |it: &ThreadId| state(it).is_ok_and(|it| it == ThreadState::Cancelled);
                let below: Vec<ThreadId> = open.into_iter().filter(cancelled).collect();
                if !cancelled(&last) && below.is_empty() {
                    return Err(ReopenError::Ended { state: state(&last)?, thread: last });
                }
                let went_on_in = Some(last).filter(|last| last != thread && cancelled(last));
                Ok(Cancelled { went_on_in, below })
            }
        }
    }

    /// Ends a conversation from this thread on and all below it. Gives what was ended beside the thread
    /// itself, and how the conversation had ended before, where it had. The caller owns the tree.
    pub(in crate::session) fn end_all(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(Cancelled, Option<ReopenError>), ReopenError> {
        let (threads, had_ended) = self.end_conversation(thread, host, store, key)?;
        let last = threads.last().filter(|last| had_ended.is_none() && *last != thread);
        // A process that ended it before may have been stopped before those below it were ended.
        let below = self.end_below(&threads, host, store, key)?;
        let ended = Cancelled { went_on_in: last.cloned(), below };
        Ok((ended, had_ended))
    }

    /// Ends the last thread of a conversation; gives its threads from this one on.
    fn end_conversation(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(Vec<ThreadId>, Option<ReopenError>), ReopenError> {
        let mut had_ended: Option<(ThreadId, ReopenError)> = None;
        loop {
            let conversation = Conversation::load(self, thread)?.without_failed_start(host);
            let mut threads = conversation.ids();
            let last = &conversation.last().record.thread;
            // A process may have been stopped before it wrote down that a thread was continued.
            match had_ended {
                Some((ended, error)) if ended == *last => {
                    let next = self.end_unbegun(&conversation, host, store, key)?;
                    let error = next.is_none().then_some(error);
                    threads.extend(next);
                    return Ok((threads, error));
                }
                _ => {}
            }
            had_ended = match self.end(last, host, store, key) {
                Ok(()) => return Ok((threads, None)),
                Err(error @ ReopenError::Ended { .. }) => Some((last.clone(), error)),
                Err(error) => return Err(error),
            };
        }
    }

    /// Ends the thread in which a conversation would go on and that was never begun: it gets a record that says so, and is never
    /// begun then.
    fn end_unbegun(
        &self,
        conversation: &Conversation,
        host: &Host<'_>,
        store: &Store,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<Option<ThreadId>, ReopenError> {
        let Some(next) = conversation.successor(host) else { return Ok(None) };
        self.make_room(next, store, host)?;
        let before = conversation.last();
        let key = host.signing_key.as_ref().or(key).cloned().map_or_else(own_key, Ok)?;
        let limits = handed_over(&before.transcript).map_or_else(LimitSet::default, |it| it.limits);
        let now = host.clock.now();
        let mut record = ThreadRecord::new(next, &before.record.directive, &limits, now);
        record.root.clone_from(&before.record.root);
        record.parent.clone_from(&before.record.parent);
        record.continues = Some(before.record.thread.clone());
        let signed_by = facts::signed_by(&key, host.signing_key.is_some());
        record.facts.insert(SIGNED_BY.to_owned(), signed_by);
        let journal = store.journal(&store.folder, record, key)?;
        journal.cancel(Nanos::ZERO, now)?;
        Ok(Some(next.clone()))
    }

    /// Ends all below a conversation. One that cannot be ended keeps no other from it, and is told in the end.
    fn end_below(
        &self,
        threads: &[ThreadId],
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<Vec<ThreadId>, ReopenError> {
        let mut ended = Vec::new();
        let mut seen = Vec::new();
        let mut failed = None;
        for Below { thread, state, .. } in self.below(threads, store) {
            let may_go_on =
                state.is_none_or(|state| !state.is_final() || state == ThreadState::Continued);
            if seen.contains(&thread) || !may_go_on {
                continue;
            }
            match self.end_conversation(&thread, host, store, key) {
                Ok((threads, had_ended)) => {
                    ended.extend(threads.last().filter(|_| had_ended.is_none()).cloned());
                    seen.extend(threads);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(ended), Err)
    }

    /// Ends one thread, also one that only its own key vouches for: nothing is made of what it says, and it would go on otherwise.
    /// One whose transcript holds an end already keeps that.
    fn end(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(), ReopenError> {
        let mut reopened = self.reopen(thread, host)?;
        // An operator's key vouches for nothing that it did not vouch for before.
        let key = key.filter(|_| !reopened.is_operators && host.signing_key.is_none());
        if let Some(key) = key {
            reopened.key = Arc::clone(key);
        }
        let now = host.clock.now();
        let (journal, reading) = reopened.journal(store)?;
        let cost = self.cost(&store.folder, &reading, host);
        let Some(end) = recorded_end(&reading) else { return Ok(journal.cancel(cost, now)?) };
        // Its process was stopped while it wrote down its end, which is what it comes to.
        let thread = thread.clone();
        let state = end.state();
        journal.close(end, cost, now)?;
        Err(ReopenError::Ended { thread, state })
    }
}
