//! A child's conversation, from one thread to the next that goes on with it (SPEC 10.10).

use std::sync::Arc;

use rye_project::with_causes;
use rye_sign::SigningKey;
use rye_thread::{Cancel, Outcome, ThreadId};
use rye_types::ThreadState;
use tokio::sync::Semaphore;

use super::{child_bounds, follow_cancel, standing};
use crate::rye::Rye;
use crate::session::Store;
use crate::session::begin::Begun;
use crate::session::prepare::prepare;
use crate::session::request::Host;
use crate::session::tree::thinking::Thinking;
use crate::session::tree::watching::Below;
use crate::session::tree::{Report, Standing, Tree};

/// The conversation of a child. A call that waits for the first of its threads waits for the last, and all spend the share of the
/// first.
pub(super) struct ChildConversation<'a> {
    pub(super) rye: &'a Rye,
    pub(super) host: Host<'a>,
    pub(super) tree: Arc<Tree>,
    pub(super) store: Arc<Store>,
    pub(super) key: Arc<SigningKey>,
    pub(super) places: Arc<Semaphore>,
    pub(super) parent: ThreadId,
    pub(super) directive: String,
    /// The number of items that the parent's calls had added to its conversation when it started
    /// the first thread.
    pub(super) added: u64,
    /// The oldest first, and never none.
    pub(super) threads: Vec<ThreadId>,
    /// The reports of the threads before the last.
    pub(super) used: Vec<Report>,
}

impl ChildConversation<'_> {
    pub(super) fn first(&self) -> &ThreadId {
        self.threads.first().expect("because a conversation begins with the child")
    }

    pub(super) fn last(&self) -> &ThreadId {
        self.threads.last().expect("because a conversation begins with the child")
    }

    /// Drives the last thread, and each that goes on after it, until one does not.
    pub(super) async fn run_to_end(mut self, own: &Cancel, mut begun: Begun) -> Standing {
        loop {
            let last = self.last().clone();
            let cancel = self.tree.cancel(&last).unwrap_or_else(|| own.clone());
            begun.join(&last, &self.tree, &self.places);
            self.tree.announce(std::mem::take(&mut begun.warnings), self.host.observer);
            let watching = Below::new(self.host.observer, &last, self.tree.depth(self.first()));
            let thinking = Thinking::new(&self.host, &self.tree, self.first());
            let host = Host { observer: &watching, approver: &thinking, ..self.host.clone() };
            let driven = follow_cancel(own, &cancel, begun.drive(&host, &cancel)).await;
            let Ok(outcome) = driven else { return self.stands(Standing::Interrupted) };
            self.warn(&last, &outcome);
            if outcome.continued_by.is_none() {
                return self.stands(standing(&outcome));
            }
            match self.next(&outcome) {
                Ok(next) => begun = next,
                Err(reason) => {
                    self.tree.warn(format!("thread `{last}` is not continued for now: {reason}"));
                    return self.stands(Standing::Interrupted);
                }
            }
        }
    }

    /// Adds a warning with the reason why a descendant stopped, for readers of the first thread
    /// alone.
    fn warn(&self, thread: &ThreadId, outcome: &Outcome) {
        outcome.warnings.iter().for_each(|warning| self.tree.warn(warning.clone()));
        if let (ThreadState::Running, Some(failure)) = (outcome.state, &outcome.failure) {
            self.tree.warn(format!("thread `{thread}` stopped: {failure}"));
        }
    }

    /// Returns the state of the conversation, which is that of its last thread.
    pub(super) fn stands(&self, standing: Standing) -> Standing {
        let standing = match standing {
            Standing::Ended(report) => {
                let report = Report::clone(&report);
                Standing::Ended(Arc::new(self.used.iter().fold(report, Report::after)))
            }
            other => other,
        };
        self.threads.iter().skip(1).for_each(|thread| self.tree.stand(thread, standing.clone()));
        standing
    }

    /// Begins the thread that goes on where the last one ended.
    pub(super) fn next(&mut self, outcome: &Outcome) -> Result<Begun, String> {
        let begun = self.begin_next()?;
        self.used.push(Report::of_outcome(outcome));
        self.push(begun.journal.thread().clone());
        Ok(begun)
    }

    /// The thread that goes on is the last one from now on; it stands below the first.
    pub(super) fn push(&mut self, next: ThreadId) {
        let first = self.first();
        drop(self.tree.enter(&next, Some(first), &self.directive, Standing::Running));
        self.threads.push(next);
    }

    /// Prepared as every child is, under what its parent may do; with what is left of the limits.
    pub(super) fn begin_next(&self) -> Result<Begun, String> {
        let told = |error: &dyn std::error::Error| with_causes(error);
        let mut request = self.rye.successor(self.last()).map_err(|error| told(&error))?;
        let inherited = self.tree.inherited_settings(&self.parent);
        let authority = self.tree.authority(&self.parent, self.added);
        let (inherited, authority) =
            inherited.zip(authority).ok_or("the thread that started it is not driven here")?;
        let caps = request.continues.as_ref().map(|before| before.limits.clone());
        let may = (caps.unwrap_or_default(), None);
        let child_bounds =
            child_bounds(&self.parent, &inherited, authority, may, (&self.host, &self.key));
        request.child_bounds = Some(Arc::new(child_bounds.map_err(|error| told(&error))?));
        let prepared = prepare(self.rye, &request, &self.host, &self.key);
        let prepared = prepared.map_err(|error| told(&error))?;
        let made = self.rye.make_room(&request.thread, &self.store, &self.host);
        made.map_err(|error| told(&error))?;
        let begun = Begun::new(prepared, &self.store, Arc::clone(&self.key));
        begun.map_err(|error| told(&error))
    }
}
