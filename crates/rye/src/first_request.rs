//! The exact body that a thread would send first, without sending it (SPEC 8.7).

use rye_sign::Digest;
use rye_thread::first_request;

use crate::Rye;
use crate::session::{Answerer, PlanRequest, PrepareError, begun, plan, warnings};

/// What a thread of a directive sends first.
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
    /// What the operator should know, such as that an item is not signed by anybody.
    pub warnings: Vec<String>,
}

impl Rye {
    /// Prepares a run as [`run`](Self::run) does and gives the body of its first request. Nothing is sent or recorded,
    /// and no key is needed.
    ///
    /// # Errors
    ///
    /// What keeps the directive from running, a missing key aside, and what would end it before its first request; the
    /// steps of a directive send nothing, which is an error too.
    pub fn first_request(&self, request: &PlanRequest) -> Result<FirstRequest, PrepareError> {
        let plan = plan(self, request)?;
        plan.refusal()?;
        let answerer = plan.answerer(self, request)?;
        let opening = plan.opening(Some(&answerer), request)?;
        let vouched = plan.vouched(Some(&answerer));
        let mut notices = plan.warnings();
        notices.extend(warnings(&plan.composed, &vouched, self));
        let id = request.directive.clone();
        let Answerer::Model(model) = answerer else { return Err(PrepareError::NothingSent { id }) };
        let info = model.choice.describe(&model.name);
        let (limits, max_output) = (plan.limits.limits, info.max_output);
        let run = begun(opening, None, &plan.offer.palette, plan.contract, limits, max_output);
        let request = first_request(run, &info).map_err(|failure| PrepareError::Ended {
            id: id.clone(),
            failure: Box::new(failure),
        })?;
        let (protocol, delivery) = (model.config.protocol(), model.config.delivery());
        let body = rye_providers::body(protocol, &request, &model.choice, delivery)
            .map_err(|source| PrepareError::Encode { id, source: Box::new(source) })?;
        let digest = Digest::of(body.as_bytes());
        Ok(FirstRequest {
            provider: model.name,
            model: model.choice.model,
            body,
            digest,
            warnings: notices,
        })
    }
}
