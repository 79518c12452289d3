//! Requests of other processes about threads of the tree.

use std::sync::Arc;

use rye_thread::store::{ReceivedRequest, RequestedAction};
use rye_thread::{Decider, Decision, ThreadId};

use super::ThreadSupervisor;
use crate::session::Waiting;
use crate::session::tree::Standing;

impl ThreadSupervisor<'_> {
    /// Does what a request asks for, and removes it once that is on record.
    pub(super) fn perform_request(&mut self, received: ReceivedRequest) {
        if !self.is_allowed(&received) {
            received.remove();
            return;
        }
        let thread = received.request.thread.clone();
        match &received.request.action {
            RequestedAction::Decide { seq, sha256, decision } => {
                self.decide(&thread, (*seq, sha256), decision);
                received.remove();
            }
            _ => self.cancel(&thread, received),
        }
    }

    /// The operator's key vouches for a request. Without a key, any process may have written it that can write to the folder of the
    /// threads.
    fn is_allowed(&self, received: &ReceivedRequest) -> bool {
        match &self.host.signing_key {
            Some(key) => received.is_signed_by(&key.public()),
            None => !self.tree.is_exposed(),
        }
    }

    /// Ends a thread. One that is driven here comes to its end by itself.
    fn cancel(&mut self, thread: &ThreadId, received: ReceivedRequest) {
        if *thread == self.first || self.rye.ancestors(&self.first).contains(thread) {
            if let Some(cancel) = self.tree.cancel(&self.first) {
                cancel.cancel();
                self.tree.warn(format!("thread `{thread}` was cancelled by another program"));
            }
            self.cancelling.push(received);
            return;
        }
        if !matches!(self.tree.standing(thread), Some(Standing::Running)) {
            // What cannot be ended is not on record, which the process that asks sees.
            drop(self.close(thread));
            received.remove();
            return;
        }
        if let Some(cancel) = self.tree.cancel(thread) {
            cancel.cancel();
        }
        let tree = Arc::clone(&self.tree);
        let thread = thread.clone();
        self.running.push(Box::pin(async move {
            if !matches!(tree.wait_for_end(&thread).await, Some(Standing::Ended(_)) | None) {
                drop(tree.close(&thread).await);
            }
            received.remove();
        }));
    }

    /// Decides the call that a thread waits with, if the request means that one.
    fn decide(&self, thread: &ThreadId, (seq, sha256): (u64, &str), decision: &Decision) {
        let Ok(found) = self.rye.found(&self.store.folder, thread) else { return };
        let waiting = Waiting::read(&found.reading.record, &found.reading.transcript);
        let Some(waiting) = waiting.filter(|it| it.seq() == seq) else { return };
        let request = waiting.request();
        let is_meant = request.sha256 == *sha256
            && (*decision != Decision::ApprovedInThread || !request.covers.is_empty());
        if is_meant && !self.tree.answer(request, decision.clone()) {
            let said = (decision, &Decider::command());
            // What is not recorded is not decided, which the process that asks sees.
            drop(self.rye.record_decision(thread, &waiting, said, &self.host, &self.store));
        }
    }
}
