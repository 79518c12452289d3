//! Requests to the process that owns a thread tree, which records what they ask for (SPEC 10.8).

use std::time::Duration;

use rye_thread::store::{PostedRequest, RequestedAction, StoreError, ThreadRequest, TreeOwnership};
use rye_thread::{JournalError, ThreadId};

use super::ReopenError;
use super::error::PATIENCE;
use crate::session::{Host, Store};

/// A tree whose owner is asked.
pub(super) struct AskedTree<'a> {
    pub(super) store: &'a Store,
    pub(super) root: &'a ThreadId,
    pub(super) host: &'a Host<'a>,
}

/// The end of a question.
pub(super) enum Answer<T> {
    /// The transcript holds the wanted change.
    Recorded(T),
    /// The owner has ended, and this process owns the tree.
    Free(TreeOwnership),
}

impl AskedTree<'_> {
    /// Asks until the transcript shows the wanted change, which `recorded` looks for, or until the tree is free. The request is made
    /// anew for each owner, and removed in the end.
    pub(super) fn ask<T>(
        &self,
        mut request: impl FnMut() -> Result<ThreadRequest, ReopenError>,
        mut recorded: impl FnMut() -> Result<Option<T>, ReopenError>,
    ) -> Result<Answer<T>, ReopenError> {
        let clock = self.host.clock;
        let key = self.host.signing_key.as_deref();
        let began = clock.elapsed();
        let mut posted = None;
        loop {
            if let Some(found) = recorded()? {
                return Ok(Answer::Recorded(found));
            }
            let owner = match self.store.threads.own_now(self.root) {
                Ok(tree) if !tree.is_driven() => {
                    // The owner may have recorded it right before it ended.
                    return Ok(recorded()?.map_or(Answer::Free(tree), Answer::Recorded));
                }
                Ok(tree) => tree.owner().clone(),
                Err(StoreError::Held { owner, .. }) => owner,
                Err(error) => return Err(JournalError::from(error).into()),
            };
            let wanted = request()?;
            // A cancellation that is gone may have reached one driver of the tree alone, or none.
            let is_posted = |(to, what, request): &(String, ThreadRequest, PostedRequest)| {
                let is_pending = what.action != RequestedAction::Cancel || request.is_there();
                *to == owner.instance && *what == wanted && is_pending
            };
            if !owner.instance.is_empty() && !posted.as_ref().is_some_and(is_posted) {
                let threads = &self.store.threads;
                let request = threads.request(self.root, &owner, &wanted, key, clock.now());
                let request = request.map_err(JournalError::from)?;
                posted = Some((owner.instance.clone(), wanted.clone(), request));
            }
            if PATIENCE <= clock.elapsed().saturating_sub(began) {
                let thread = wanted.thread;
                let is_signed = key.is_some();
                return Err(ReopenError::Unanswered { thread, owner, is_signed });
            }
            #[expect(clippy::disallowed_methods, reason = "the callers are no async code")]
            std::thread::sleep(PAUSE);
        }
    }
}

/// The time between two reads of the transcript.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns `true` if another process owns the tree, or this one appends to the thread.
pub(super) fn is_held(error: &ReopenError) -> bool {
    matches!(error, ReopenError::Journal(JournalError::Store(StoreError::Held { .. })))
}
