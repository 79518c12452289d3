//! What stands above a thread that is reopened: the threads that started it, each prepared anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rye_sign::SigningKey;
use rye_thread::ThreadRecord;

use super::ReopenError;
use super::continuing::bounded_by_continuation;
use super::plan::plan;
use super::prepare::token;
use super::recorded::recorded_request;
use super::request::{Host, PlanRequest};
use super::tree::Lineage;
use crate::Rye;

impl Rye {
    /// What a child is narrowed from, with its parent prepared anew, and that one's parent before it; `None` for a thread
    /// that nobody started. Who only looks mints no tokens.
    pub(super) fn lineage(
        &self,
        record: &ThreadRecord,
        mint: Option<(&Host<'_>, &Arc<SigningKey>)>,
    ) -> Result<Option<Arc<Lineage>>, ReopenError> {
        let Some(parent) = record.parent.clone() else { return Ok(None) };
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        self.refuse_circle(&threads, record)?;
        let above = self.found(&threads, &parent)?.reading.record;
        let unrepeatable = |problem| ReopenError::Unrepeatable { thread: parent.clone(), problem };
        let mut request = recorded_request(&above).map_err(unrepeatable)?;
        request.lineage = self.lineage(&above, mint)?;
        let prepare =
            |source| ReopenError::Prepare { thread: parent.clone(), source: Box::new(source) };
        let mut plan = plan(self, &PlanRequest::from(&request)).map_err(prepare)?;
        if request.continues.is_some() {
            bounded_by_continuation(self, &mut plan).map_err(prepare)?;
        }
        let narrowed = request.lineage.as_deref();
        let mut tokens = narrowed.map(|lineage| lineage.tokens.clone()).unwrap_or_default();
        if let Some((host, key)) = mint {
            let (limits, now) = (&above.limits, host.clock.now());
            let fresh = ThreadRecord::new(&parent, &above.directive, limits, now);
            let chain = &plan.composed.chain;
            tokens.push(token(chain, &plan.authority, &fresh, key, narrowed).map_err(prepare)?);
        }
        let (authority, caps) = (plan.authority, record.limits.clone());
        Ok(Some(Arc::new(Lineage { parent, authority, tokens, caps, share: None })))
    }

    /// A record is what somebody wrote: one that stands above itself must not lead in circles.
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
