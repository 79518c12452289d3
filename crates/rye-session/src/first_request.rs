//! The exact body that a thread would send first, without sending it (SPEC 8.7).

use rye_project::{Answerer, PlanRequest, PrepareError, Project};
use rye_sign::Digest;
use rye_thread::first_request;

use crate::rye::Rye;
use crate::session::begin_run;

/// The first request of a thread of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstRequest {
    /// The provider.
    pub provider: String,
    /// The provider's own name of the model.
    pub model: String,
    /// The body, byte for byte.
    pub body: String,
    /// The SHA-256 over the body.
    pub digest: Digest,
    /// `true` if an item of it is a draft of the operator's, or unsigned. A run refuses a draft.
    pub draft: bool,
    /// Warnings for the operator, such as that no key signed an item.
    pub warnings: Vec<String>,
}

impl Rye {
    /// Prepares a run as [`run`](Self::run) does and returns the body of its first request. It sends and
    /// records nothing, and needs no key.
    ///
    /// # Errors
    ///
    /// The method fails for the reasons that keep the directive from running, except a missing key. It fails
    /// too if the thread would end before its first request, and for a directive with steps, which sends
    /// nothing.
    pub fn first_request(&self, request: &PlanRequest) -> Result<FirstRequest, PrepareError> {
        FirstRequest::of(self, request)
    }
}

impl FirstRequest {
    /// Prepares a run in `project`, which may be one that shows drafts, and returns the body of its first request.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::first_request`].
    pub fn of(project: &Project, request: &PlanRequest) -> Result<Self, PrepareError> {
        let plan = project.plan(request)?;
        plan.refusal()?;
        let answerer = plan.answerer(project, request)?;
        plan.refuse_denied(&answerer)?;
        let opening = plan.opening(Some(&answerer), request)?;
        let vouched = plan.provenances(Some(&answerer));
        let drafts = plan.drafts(Some(&answerer));
        let draft = !drafts.is_empty();
        let mut notices = plan.warnings();
        notices.extend(plan.composed.item_warnings(&vouched, project));
        let further: Vec<String> = drafts.into_iter().filter(|it| !notices.contains(it)).collect();
        notices.extend(further);
        let id = request.directive.clone();
        let Answerer::Model(model) = answerer else { return Err(PrepareError::NothingSent { id }) };
        let info = model.choice.describe(&model.name);
        let limits = plan.limits.limits;
        let max_output = info.max_output;
        let tools = plan.offer.palette.specs(&plan.contract);
        let run = begin_run(opening, None, tools, plan.contract, limits, max_output);
        let request = first_request(run, &info).map_err(|failure| PrepareError::Ended {
            id: id.clone(),
            failure: Box::new(failure),
        })?;
        let protocol = model.config.protocol();
        let delivery = model.config.delivery();
        let body = rye_providers::body(protocol, &request, &model.choice, delivery)
            .map_err(|source| PrepareError::Encode { id, source: Box::new(source) })?;
        let digest = Digest::of(body.as_bytes());
        Ok(FirstRequest {
            provider: model.name,
            model: model.choice.model,
            body,
            digest,
            draft,
            warnings: notices,
        })
    }
}
