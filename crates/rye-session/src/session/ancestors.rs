//! The ancestors of a thread that is reopened, each prepared anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rye_project::{ChildBounds, PlanRequest};
use rye_sign::SigningKey;
use rye_thread::{AddedItem, ThreadId, ThreadRecord, added_items, spawned_children};

use super::ReopenError;
use super::authority::under;
use super::continuing::bounded_by_continuation;
use super::conversation::UNREADABLE_ITEM;
use super::prepare::token;
use super::recorded::recorded_request;
use super::request::Host;
use crate::rye::Rye;
use crate::thread_reading::ThreadReading;

impl Rye {
    /// Returns the authority that bounds a child, with each of its ancestors prepared anew. Returns
    /// `None` for a thread without a parent. Without `mint`, it mints no tokens.
    pub(super) fn child_bounds(
        &self,
        record: &ThreadRecord,
        mint: Option<(&Host<'_>, &Arc<SigningKey>)>,
    ) -> Result<Option<Arc<ChildBounds>>, ReopenError> {
        let Some(parent) = record.parent.clone() else { return Ok(None) };
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        self.refuse_circle(&threads, record)?;
        let host = mint.map(|(host, _)| host);
        let above = self.above(&threads, &parent, host)?;
        let added = self.added_before(record, &above, host)?;
        let above = above.record;
        let root = record.root.clone();
        let unrepeatable = |problem| ReopenError::Unrepeatable { thread: parent.clone(), problem };
        let mut request = recorded_request(&above).map_err(unrepeatable)?;
        if request.tool.is_some() {
            return Err(unrepeatable("a thread of `rye call` starts no other".to_owned()));
        }
        request.child_bounds = self.child_bounds(&above, mint)?;
        let prepare =
            |source| ReopenError::Prepare { thread: parent.clone(), source: Box::new(source) };
        let mut plan = self.plan(&PlanRequest::from(&request)).map_err(prepare)?;
        if let Some(continuation) = &request.continues {
            bounded_by_continuation(self, &mut plan, continuation).map_err(prepare)?;
        }
        let narrowed = request.child_bounds.as_deref();
        let mut tokens = narrowed.map(|bounds| bounds.tokens.clone()).unwrap_or_default();
        if let Some((host, key)) = mint {
            let limits = &above.limits;
            let now = host.clock.now();
            let fresh = ThreadRecord::new(&parent, &above.directive, limits, now);
            let chain = &plan.composed.chain;
            tokens.push(token(chain, &plan.authority, &fresh, key, narrowed).map_err(prepare)?);
        }
        let authority = under(&plan.authority, &added);
        let caps = record.limits.clone();
        Ok(Some(Arc::new(ChildBounds { parent, root, authority, tokens, caps, share: None })))
    }

    /// A thread that decides on what another one may do: a process that drives that one relies on what the operator's key signed.
    fn above(
        &self,
        threads: &Path,
        thread: &ThreadId,
        host: Option<&Host<'_>>,
    ) -> Result<ThreadReading, ReopenError> {
        let found = self.found(threads, thread)?;
        match host {
            Some(host) => found.into_own(host),
            None => Ok(found.reading),
        }
    }

    /// The items that calls of the parent had added to its conversation when it started the thread, or the one whose
    /// conversation that continues.
    fn added_before(
        &self,
        record: &ThreadRecord,
        above: &ThreadReading,
        host: Option<&Host<'_>>,
    ) -> Result<Vec<AddedItem>, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let mut first = record.clone();
        let mut seen = BTreeSet::new();
        while let Some(before) = first.continues.clone().filter(|it| seen.insert(it.clone())) {
            first = self.above(&threads, &before, host)?.record;
        }
        let unreadable = || {
            let problem = UNREADABLE_ITEM.to_owned();
            ReopenError::Unrepeatable { thread: above.record.thread.clone(), problem }
        };
        let mut added = added_items(&above.transcript).ok_or_else(unreadable)?;
        let spawned = spawned_children(&above.transcript).ok_or_else(unreadable)?;
        if let Some(spawn) = spawned.iter().find(|spawn| spawn.child == first.thread) {
            added.truncate(usize::try_from(spawn.added).unwrap_or(usize::MAX));
        }
        Ok(added)
    }

    /// Refuses a record that names its own thread as an ancestor. The record is untrusted, and such
    /// a circle would never end.
    fn refuse_circle(&self, threads: &Path, record: &ThreadRecord) -> Result<(), ReopenError> {
        let mut seen = BTreeSet::from([record.thread.clone()]);
        let mut above = record.parent.clone();
        while let Some(parent) = above {
            if !seen.insert(parent.clone()) {
                let problem = "it stands above itself".to_owned();
                return Err(ReopenError::Unrepeatable { thread: parent, problem });
            }
            above = self.found(threads, &parent)?.reading.record.parent;
        }
        Ok(())
    }
}
