//! One approval: asked for, waited for, decided.

use super::batch::Proposal;
use super::{Driver, Stop};
use crate::transcript::Event;
use crate::{ApprovalRequest, Decider, Decision, Run, ToolCall};

impl Driver<'_> {
    /// Has the operator decide on the call. The question is on record before it is asked, and the
    /// decision after it is made.
    pub(super) async fn approve(
        &mut self,
        run: &mut Run,
        index: usize,
        call: &ToolCall,
    ) -> Result<(), Stop> {
        self.check_cancelled()?;
        // The tool may have ceased to need it since the thread was suspended.
        let Some(request) = self.prepare(run, index, call).await.asks else {
            return Ok(run.approval_decided(Decision::Approved)?);
        };
        if !self.progress.is_asked {
            self.recorder.emit(&Event::ApprovalRequested(request.clone()));
            self.recorder.seal().await?;
            self.progress.is_asked = true;
            self.progress.proposal = Some(Proposal::of(&request));
        }
        let decision = self.decision_on(&request).await?;
        let Some((decision, by)) = decision else {
            return Err(Stop::Suspended(Box::new(request)));
        };
        let by = by.as_str().to_owned();
        if decision == Decision::ApprovedInThread {
            self.approved.extend(approved_in_thread(&request.item_id, &request.covers));
        }
        self.recorder.emit(&Event::ApprovalDecided { request, decision: decision.clone(), by });
        self.recorder.seal().await?;
        self.progress.is_asked = false;
        Ok(run.approval_decided(decision)?)
    }

    /// Returns the operator's decision; the approval wait does not count as the thread's time.
    pub(super) async fn decision_on(
        &mut self,
        request: &ApprovalRequest,
    ) -> Result<Option<(Decision, Decider)>, Stop> {
        let began = self.clock.elapsed();
        let decision = tokio::select! {
            biased;
            halt = self.cancel.wait_for_halt() => Err(halt),
            decision = self.approver.decide(request) => Ok(decision),
        };
        let thought = self.clock.elapsed().saturating_sub(began);
        match decision {
            // The record of it stands for the time since they were asked.
            Ok(Some(_)) => self.waited += thought,
            _ => self.thought(thought),
        }
        Ok(decision?)
    }
}

/// The item and capability of each call that needs no further decision in the thread.
pub(super) fn approved_in_thread(
    item_id: &str,
    covers: &[String],
) -> impl Iterator<Item = (String, String)> {
    covers.iter().map(|capability| (item_id.to_owned(), capability.clone()))
}
