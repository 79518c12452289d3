//! The actions of a hook: each a call like a model's, through resolving, authority, schema, intent, effect and receipt.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Acted, Frame};
use crate::drive::call::{Plan, Prepared, failed};
use crate::drive::stop::check_cancelled;
use crate::drive::{Driver, Stop};
use crate::palette::EXECUTE;
use crate::transcript::Event;
use crate::{
    ActionTarget, ApprovalReason, ApprovalRequest, Asking, Decision, Hook, HookAction, HookEvent,
    Palette, Returned, Run, ToolCall,
};

/// The time that hooks may take for each action at the end of a thread whose own time is used up.
const GRACE: Duration = Duration::from_secs(30);

impl<'a> Driver<'a> {
    /// Runs the actions in order, up to one that fails.
    pub(super) async fn act_all(
        &mut self,
        run: &Run,
        hook: &Hook,
        frame: &mut Frame,
        place: usize,
    ) -> Result<(), Stop> {
        for (index, action) in hook.actions.iter().enumerate() {
            let id = format!("hook-{}-{}-{}", frame.evaluation, place + 1, index + 1);
            let palette = self.palette_of(action);
            let (call, missing) = called(&id, action, &frame.data, palette);
            let returned = self.act(run, hook, action, &call, missing.as_deref()).await?;
            let item = item(action).to_owned();
            let injects = injects(hook.event, action);
            let result = shown(returned, injects);
            let is_error = result.is_error;
            frame.acted.push(Acted { item, injects, result });
            if is_error {
                break;
            }
        }
        Ok(())
    }

    /// The palette that the action's name stands in.
    fn palette_of(&self, action: &HookAction) -> &'a Palette {
        match action.target {
            ActionTarget::Text(_) => self.hooks.texts(),
            ActionTarget::Tool(_) => self.executor.authoriser.palette,
        }
    }

    async fn act(
        &mut self,
        run: &Run,
        hook: &Hook,
        action: &HookAction,
        call: &ToolCall,
        missing: Option<&[String]>,
    ) -> Result<Returned, Stop> {
        let mut prepared = self.executor.authoriser.authorise(self.palette_of(action), 0, call);
        if let Some(missing) = missing {
            let answer = failed(call, "the event has no such data", missing);
            prepared.plan = Plan::Answer(answer);
        }
        self.have_approved(&mut prepared, Asking::Always).await?;
        let start = start(hook, action, &prepared);
        // What was begun before and has no receipt may have happened: each further run of it is decided on by itself.
        while self.logged(&start)?.is_some() {
            if let Some(returned) = self.log.receipt() {
                return Ok(returned);
            }
            let asked = self.have_approved(&mut prepared, Asking::Never).await?;
            if let Some(returned) = self.log.receipt() {
                return Ok(returned);
            }
            if !asked.is_some_and(|decision| decision.is_approval()) {
                break;
            }
        }
        let returned = self.run_action(run, hook, prepared).await?;
        let Returned { result, refusal, .. } = returned.clone();
        self.recorder.emit(&Event::HookCallResult { hook: hook.id.clone(), result, refusal });
        Ok(returned)
    }

    /// Has the operator decide on the call: `Always` asks as configured, `Never` because it began
    /// before.
    ///
    /// Returns the decision, if one was needed.
    async fn have_approved(
        &mut self,
        prepared: &mut Prepared<'_>,
        asking: Asking,
    ) -> Result<Option<Decision>, Stop> {
        let Plan::Run { offered, arguments, .. } = &prepared.plan else { return Ok(None) };
        let is_again = asking == Asking::Never;
        let authoriser = &self.executor.authoriser;
        let Some(why) = authoriser.reason(offered, arguments, is_again) else { return Ok(None) };
        let thread = self.recorder.journal.thread();
        let id = &offered.entry.item_id;
        let request = ApprovalRequest::new(thread, &prepared.call.id, id, arguments, why);
        let decision = self.have_decided(request).await?;
        if let Decision::Denied(reason) = &decision {
            let reason = reason.as_ref();
            let authoriser = &self.executor.authoriser;
            let answer = authoriser.denied(prepared.call, offered, arguments, is_again, reason);
            prepared.plan = Plan::Answer(answer);
        }
        Ok(Some(decision))
    }

    async fn run_action(
        &mut self,
        run: &Run,
        hook: &Hook,
        prepared: Prepared<'_>,
    ) -> Result<Returned, Stop> {
        check_cancelled(self.cancel)?;
        let at_the_end =
            matches!(hook.event, HookEvent::AfterComplete | HookEvent::Error | HookEvent::Limit);
        let left = self.recorder.time.left(run);
        let left = if at_the_end { left.max(GRACE) } else { left };
        self.executor.run_action(prepared, left, &mut self.recorder).await
    }

    /// Records the question, waits for the decision, and records it.
    pub(super) async fn have_decided(
        &mut self,
        request: ApprovalRequest,
    ) -> Result<Decision, Stop> {
        check_cancelled(self.cancel)?;
        if !self.log.asked() {
            self.recorder.emit(&Event::ApprovalRequested(request.clone()));
            self.recorder.seal().await?;
        }
        if let Some(decision) = self.log.decision() {
            return Ok(decision);
        }
        self.executor.decide(request, &mut self.recorder).await
    }

    /// Returns the request for the decision that a hook asks for.
    pub(super) fn escalation(&self, frame: &Frame) -> ApprovalRequest {
        let thread = self.recorder.journal.thread();
        let id = format!("hook-{}", frame.evaluation);
        let item = format!("hook {} at {}", frame.hook, frame.event);
        ApprovalRequest::new(thread, &id, &item, &frame.data, ApprovalReason::Escalated)
    }
}

/// The intent of a call, as that of a hook's.
fn start(hook: &Hook, action: &HookAction, prepared: &Prepared<'_>) -> Event {
    match prepared.intent.clone() {
        Event::ToolCallStart { call_id, name, arguments, target } => Event::HookCallStart {
            hook: hook.id.clone(),
            call_id,
            injects: injects(hook.event, action),
            name,
            arguments,
            target,
        },
        other => other,
    }
}

/// The action as a call, and the paths of its arguments that lead nowhere.
fn called(
    id: &str,
    action: &HookAction,
    data: &Value,
    palette: &Palette,
) -> (ToolCall, Option<Vec<String>>) {
    let (parameters, missing) = match action.fill(data) {
        Ok(filled) => (palette.with_texts(item(action), filled), None),
        Err(missing) => (Value::Object(action.arguments.clone()), Some(missing)),
    };
    let arguments = json!({"item_type": "tool", "item_id": item(action), "parameters": parameters});
    (ToolCall::new(id, EXECUTE, arguments), missing)
}

fn item(action: &HookAction) -> &str {
    match &action.target {
        ActionTarget::Text(id) | ActionTarget::Tool(id) => id,
    }
}

/// Texts are for the model, and so is, before the first request, what tools find out.
fn injects(event: HookEvent, action: &HookAction) -> bool {
    event.is_context() || matches!(action.target, ActionTarget::Text(_))
}

/// The result as text where a model is to read it.
pub(in crate::drive) fn shown(returned: Returned, injects: bool) -> crate::ToolResult {
    let mut result = returned.result;
    if injects && !result.is_error && !result.content.is_string() {
        result.content = Value::String(result.content.to_string());
    }
    result
}
