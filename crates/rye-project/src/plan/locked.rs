//! Refusals of what is not as `.ai/rye.lock` has it, where that is demanded (SPEC 8.7).

use rye_resolve::ItemId;
use rye_types::ItemKind;

use super::error::PrepareError;
use super::request::PlanRequest;
use crate::lock::ExecutedPart;
use crate::project::{LockJudge, Project};

impl Project {
    /// Returns the directive that has to be as it was locked. A tool that the operator calls by its name has no directive of its own.
    pub(super) fn locked_directive<'r>(&self, request: &'r PlanRequest) -> Option<&'r ItemId> {
        (self.requires_lock && request.tool.is_none()).then_some(&request.directive)
    }

    /// Refuses a directive that is not as it was locked.
    pub(super) fn refuse_unlocked(&self, request: &PlanRequest) -> Result<(), PrepareError> {
        let Some(id) = self.locked_directive(request) else { return Ok(()) };
        let judged = self.lock_judge().and_then(|judge| judge.judge(self, id));
        judged.map_err(|problems| PrepareError::NotAsLocked { id: id.clone(), problems })
    }

    /// Refuses a directive or knowledge that a call returns into a thread of the directive `thread`, and that is neither in the
    /// record of that directive nor locked itself (SPEC D16).
    pub(super) fn refuse_unlocked_execution(
        &self,
        thread: &ItemId,
        (kind, id): (ItemKind, &ItemId),
        parts: &[ExecutedPart],
    ) -> Result<(), PrepareError> {
        let judge = self.lock_judge();
        let judged = judge.and_then(|judge| judge.judge_executed(self, thread, (kind, id), parts));
        let id = id.clone();
        judged.map_err(|problems| match kind {
            ItemKind::Knowledge => PrepareError::KnowledgeNotAsLocked { id, problems },
            _ => PrepareError::NotAsLocked { id, problems },
        })
    }

    fn lock_judge(&self) -> Result<&dyn LockJudge, Vec<String>> {
        let unknown = || vec!["this program cannot compare it".to_owned()];
        self.lock_judge.as_deref().ok_or_else(unknown)
    }
}
