//! The decisions of hooks and their effects on the run, the same when a thread is driven and when
//! it is read.

use rye_types::{HookEffect, HookEvent, Limit};
use serde_json::Value;

use crate::transcript::payload::Triggered;
use crate::{Decision, Failure, FailureKind, OutOfTurn, ProviderErrorClass, Run, ToolResult};

/// One hook that matched, and what it did.
#[derive(Debug)]
pub(in crate::drive) struct Frame {
    pub(in crate::drive) triggered: Triggered,
    pub(in crate::drive) acted: Vec<Acted>,
    /// The decision that the hook asked for.
    pub(in crate::drive) decision: Option<Decision>,
}

/// One action that has its receipt.
#[derive(Debug)]
pub(in crate::drive) struct Acted {
    pub(in crate::drive) item: String,
    /// `true` if its result is for the model.
    pub(in crate::drive) injects: bool,
    pub(in crate::drive) result: ToolResult,
}

impl Acted {
    /// Creates the action from its result, which is text where a model is to read it.
    pub(in crate::drive) fn new(item: &str, injects: bool, mut result: ToolResult) -> Self {
        if injects && !result.is_error && !result.content.is_string() {
            result.content = Value::String(result.content.to_string());
        }
        Self { item: item.to_owned(), injects, result }
    }

    /// Returns the text for the model.
    pub(in crate::drive) fn text(&self) -> Option<&String> {
        match &self.result.content {
            Value::String(text) if self.injects && !self.result.is_error => Some(text),
            _ => None,
        }
    }
}

impl Frame {
    pub(in crate::drive) const fn new(triggered: Triggered) -> Self {
        Self { triggered, acted: Vec::new(), decision: None }
    }

    /// Drops the decision when an action follows, because the decision was about the action.
    pub(in crate::drive) fn acts_on(&mut self) {
        self.decision = None;
    }

    /// Returns `true` if the operator said no.
    pub(in crate::drive) fn is_denied(&self) -> bool {
        matches!(self.decision, Some(Decision::Denied(_)))
    }

    /// Returns `true` if this hook decides, unless an earlier one has decided.
    ///
    /// One whose action failed decides nothing that lets the thread do more than it would without.
    pub(in crate::drive) fn decides(&self, run: &Run) -> bool {
        let worked = self.acted.iter().all(|acted| !acted.result.is_error);
        self.triggered
            .effect
            .is_some_and(|effect| (worked || !effect.is_permissive()) && self.can(effect, run))
    }

    /// Returns the limit that the question is about, with its value.
    pub(in crate::drive) fn asks_about(&self) -> Option<(Limit, u64)> {
        match &self.triggered.failure.as_ref()?.kind {
            FailureKind::Limit(hit) if self.triggered.effect == Some(HookEffect::Escalate) => {
                Some((hit.limit, hit.maximum))
            }
            _ => None,
        }
    }

    fn can(&self, effect: HookEffect, run: &Run) -> bool {
        use HookEffect::{Abort, Continue, Escalate, Fail, Retry};
        let Triggered { event, failure, is_final, .. } = &self.triggered;
        match (event, effect) {
            (HookEvent::AfterStep, Abort | Continue | Escalate | Fail)
            | (HookEvent::ContextLimitReached, Abort | Continue | Fail)
            | (HookEvent::DirectiveReturn, _)
            | (HookEvent::Limit, Abort | Fail)
            | (HookEvent::Error, Abort | Fail) => true,
            (HookEvent::Limit, Escalate) => failure.as_ref().is_some_and(
                |failure| matches!(&failure.kind, FailureKind::Limit(hit) if hit.limit != Limit::Spend),
            ),
            (HookEvent::Error, Continue) => !is_final,
            (HookEvent::Error, Escalate) if !is_final => true,
            (HookEvent::Error, Escalate | Retry) => {
                *is_final && run.failure().is_some_and(|failure| failure.kind.may_be_retried())
            }
            _ => false,
        }
    }

    pub(super) fn failure(&self, what: &str) -> Failure {
        let message =
            format!("hook `{}` of {} {what}", self.triggered.hook, self.triggered.declared_by);
        Failure::new(FailureKind::Hook, &message)
    }
}

/// Does to the run what the hooks of one event decided; gives back why outputs are not accepted.
pub(in crate::drive) fn apply(
    run: &mut Run,
    frames: &[Frame],
) -> Result<Option<String>, OutOfTurn> {
    let Some(first) = frames.first() else { return Ok(None) };
    let winner = frames.iter().find(|frame| frame.decides(run));
    let unwanted = match winner {
        Some(frame) => decide(run, frame)?,
        None => None,
    };
    if run.is_ready() && first.triggered.event != HookEvent::DirectiveReturn {
        for text in frames.iter().flat_map(|frame| &frame.acted).filter_map(Acted::text) {
            run.inject(text)?;
        }
    }
    Ok(unwanted)
}

fn decide(run: &mut Run, frame: &Frame) -> Result<Option<String>, OutOfTurn> {
    let is_denied = frame.is_denied();
    let triggered = &frame.triggered;
    let Some(effect) = triggered.effect else { return Ok(None) };
    match (triggered.event, effect) {
        (HookEvent::AfterStep | HookEvent::DirectiveReturn, HookEffect::Fail) => {
            run.fail(frame.failure("ended the thread"))?;
        }
        (HookEvent::AfterStep, HookEffect::Escalate) if is_denied => {
            run.fail(frame.failure("asked whether to go on, and somebody said no"))?;
        }
        (HookEvent::DirectiveReturn, HookEffect::Retry) => {
            return Ok(Some(rejection_message(frame)));
        }
        (HookEvent::DirectiveReturn, HookEffect::Escalate) if is_denied => {
            return Ok(Some(format!(
                "hook `{}` had somebody look at the outputs, who does not accept them",
                triggered.hook
            )));
        }
        (HookEvent::ContextLimitReached, HookEffect::Continue) => run.hand_over()?,
        (HookEvent::ContextLimitReached, HookEffect::Fail) if run.failure().is_none() => {
            let kind = FailureKind::Provider(ProviderErrorClass::ContextTooLong);
            run.fail(Failure::new(kind, &frame.failure("ended the thread").message))?;
        }
        (HookEvent::Error, HookEffect::Fail | HookEffect::Escalate) if !triggered.is_final => {
            if let (Some(failure), true) =
                (&triggered.failure, effect == HookEffect::Fail || is_denied)
            {
                run.fail(failure.clone())?;
            }
        }
        (HookEvent::Error, HookEffect::Retry) => run.retry()?,
        (HookEvent::Error, HookEffect::Escalate) if !is_denied => run.retry()?,
        (HookEvent::Limit, HookEffect::Fail) if !triggered.is_final => {
            if let Some(failure) = &triggered.failure {
                run.fail(failure.clone())?;
            }
        }
        (HookEvent::Limit, HookEffect::Escalate) if !is_denied => match &triggered.failure {
            Some(Failure { kind: FailureKind::Limit(hit), .. }) if !triggered.is_final => {
                run.allow_more(hit.limit)?;
            }
            _ => run.extend()?,
        },
        (_, HookEffect::Abort) if run.failure().is_some() => run.abort()?,
        (_, HookEffect::Abort) => run.cancel()?,
        _ => {}
    }
    Ok(None)
}

/// Returns the message for a model whose outputs a hook does not accept: the hook's own words, if
/// it has any.
fn rejection_message(frame: &Frame) -> String {
    let texts: Vec<&str> = frame.acted.iter().filter_map(Acted::text).map(String::as_str).collect();
    let reason = format!("hook `{}` does not accept these outputs", frame.triggered.hook);
    if texts.is_empty() { reason } else { format!("{reason}: {}", texts.join("\n")) }
}

#[cfg(test)]
mod tests;
