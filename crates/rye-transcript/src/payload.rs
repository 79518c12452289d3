//! The payload of an event's record, written without a copy, and read back.

mod rare;
mod read;

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use self::rare::{
    CompletedDisk, ContinuedDisk, DecidedDisk, FailedDisk, FallbackDisk, InjectedDisk, RequestDisk,
    ResumedDisk, RetriedDisk, StartDisk, StoppedDisk, SystemDisk, TriggeredDisk, millis,
};
pub(crate) use self::read::check_decisions;
pub use self::read::{recorded_event, recorded_events};
use crate::added::disk::AddedDisk;
use crate::child_end::ChildEndDisk;
use crate::failure::disk::{FailureDisk, LimitHitDisk, LimitsDisk, RefusalDisk};
use crate::json::{Shown, value_named};
use crate::message::disk::{ReplyDisk, UsageDisk};
use crate::spawn::disk::SpawnDisk;
use crate::{Event, Refusal, Target, ToolResult};

/// Returns the payload as the record of the event holds it, for comparison with a record.
#[must_use]
pub fn recorded_payload(event: &Event) -> Box<RawValue> {
    to_raw_value(&Payload(event)).expect("because every part of it is plain JSON")
}

/// The payload of an event, written by the struct that describes it. Those of frequent events borrow.
pub(crate) struct Payload<'a>(pub(crate) &'a Event);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Event::AssistantReasoning { text }
            | Event::AssistantText { text }
            | Event::UserMessage { text } => {
                TextDisk { text: Cow::Borrowed(text) }.serialize(serializer)
            }
            Event::Checkpoint { checkpoint } => checkpoint.serialize(serializer),
            Event::StepFinish { turn, reply, cost } => {
                let turn = *turn;
                let reply = ReplyDisk::of(reply);
                let cost_nanos = cost.get();
                StepFinishDisk { turn, reply, cost_nanos }.serialize(serializer)
            }
            Event::StepStart { turn, reserved, max_output_tokens } => {
                let (turn, reserved_nanos, max_output_tokens) =
                    (*turn, reserved.get(), *max_output_tokens);
                StepStartDisk { turn, reserved_nanos, max_output_tokens }.serialize(serializer)
            }
            Event::HookCallResult { hook, result, refusal } => {
                let hook = Some(Cow::Borrowed(hook.as_str()));
                let receipt = ReceiptDisk::of(result, refusal.as_ref());
                ReceiptDisk { hook, ..receipt }.serialize(serializer)
            }
            Event::HookCallStart { hook, call_id, injects, name, arguments, target } => {
                let hook = Some(Cow::Borrowed(hook.as_str()));
                let injects = Some(*injects);
                let intent = IntentDisk::of(call_id, name, arguments, target.as_ref());
                IntentDisk { hook, injects, ..intent }.serialize(serializer)
            }
            Event::ToolCallResult { result, refusal, limit, added } => {
                let limit = limit.as_ref().map(LimitHitDisk::of);
                let added = added.iter().map(AddedDisk::of).collect();
                let receipt = ReceiptDisk::of(result, refusal.as_ref());
                ReceiptDisk { limit, added, ..receipt }.serialize(serializer)
            }
            Event::ToolCallStart { call_id, name, arguments, target } => {
                IntentDisk::of(call_id, name, arguments, target.as_ref()).serialize(serializer)
            }
            Event::ApprovalDecided { request, decision, by } => {
                DecidedDisk::of(request, decision, by).serialize(serializer)
            }
            Event::ApprovalRequested(request) => RequestDisk::of(request).serialize(serializer),
            Event::ChildEnded(end) => ChildEndDisk::of(end).serialize(serializer),
            Event::ContextInjected(injected) => InjectedDisk::of(injected).serialize(serializer),
            Event::HookTriggered(triggered) => TriggeredDisk::of(triggered).serialize(serializer),
            Event::ModelFallback { provider, reason } => {
                FallbackDisk::of(provider, reason).serialize(serializer)
            }
            Event::RequestFailed { turn, class, message, cost } => {
                FailedDisk::of(*turn, class, message, *cost).serialize(serializer)
            }
            Event::RequestRetried { turn, retry, cost, reserved } => {
                RetriedDisk::of(*turn, retry, *cost, *reserved).serialize(serializer)
            }
            Event::SpawnChild(spawn) => SpawnDisk::of(spawn).serialize(serializer),
            Event::SystemPrompt { text } => SystemDisk::of(text).serialize(serializer),
            Event::ThreadComplete { outputs, text, turns, usage, cost } => CompletedDisk {
                turns: *turns,
                usage: UsageDisk::of(usage),
                cost_nanos: cost.get(),
                outputs: outputs.clone(),
                text: text.clone(),
            }
            .serialize(serializer),
            Event::ThreadContinued { next, limits, text, turns, usage, cost } => ContinuedDisk {
                turns: *turns,
                usage: UsageDisk::of(usage),
                cost_nanos: cost.get(),
                next: Shown(next.clone()),
                limits: LimitsDisk::of(limits),
                text: text.clone(),
            }
            .serialize(serializer),
            Event::ThreadError { state, failure, turns, usage, cost } => StoppedDisk {
                turns: *turns,
                usage: UsageDisk::of(usage),
                cost_nanos: cost.get(),
                state: Shown(*state),
                failure: failure.as_ref().map(FailureDisk::of),
            }
            .serialize(serializer),
            Event::ThreadResumed {
                opening,
                cut_bytes,
                facts,
                cost,
                elapsed,
                signed_by,
                limits,
            } => ResumedDisk {
                opening: *opening,
                cut_bytes: *cut_bytes,
                facts: facts.clone(),
                cost_nanos: cost.get(),
                elapsed_millis: millis(*elapsed),
                signed_by: signed_by.clone(),
                limits: limits.as_ref().map(LimitsDisk::of),
            }
            .serialize(serializer),
            start @ Event::ThreadStart { .. } => StartDisk::of(start).serialize(serializer),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct TextDisk<'a> {
    text: Cow<'a, str>,
}

/// The reply is written as raw JSON, which a `Value` would rewrite.
#[derive(Serialize, Deserialize)]
struct StepFinishDisk<'a> {
    turn: u64,
    reply: ReplyDisk<'a>,
    cost_nanos: u64,
}

#[derive(Serialize, Deserialize)]
struct StepStartDisk {
    turn: u64,
    reserved_nanos: u64,
    max_output_tokens: u64,
}

/// The result of a call of the model, or of a hook that has a name.
#[derive(Serialize, Deserialize)]
struct ReceiptDisk<'a> {
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    content: Cow<'a, Value>,
    is_error: bool,
    refusal: Option<RefusalDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitHitDisk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added: Vec<AddedDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    standard_error: Option<Cow<'a, str>>,
}

impl<'a> ReceiptDisk<'a> {
    fn of(result: &'a ToolResult, refusal: Option<&Refusal>) -> Self {
        Self {
            call_id: Cow::Borrowed(&result.call_id),
            name: Cow::Borrowed(&result.name),
            content: Cow::Borrowed(&result.content),
            is_error: result.is_error,
            refusal: refusal.map(RefusalDisk::of),
            limit: None,
            added: Vec::new(),
            hook: None,
            standard_error: result.standard_error.as_deref().map(Cow::Borrowed),
        }
    }

    fn into_event(self) -> Result<Event, String> {
        let result = ToolResult {
            call_id: self.call_id.into_owned(),
            name: self.name.into_owned(),
            content: self.content.into_owned(),
            is_error: self.is_error,
            standard_error: self.standard_error.map(Cow::into_owned),
        };
        let refusal = self.refusal.map(RefusalDisk::into_refusal);
        if let Some(hook) = self.hook {
            return Ok(Event::HookCallResult { hook: hook.into_owned(), result, refusal });
        }
        let limit = self.limit.map(LimitHitDisk::into_hit).transpose()?;
        let added = self.added.into_iter().map(AddedDisk::into_added).collect::<Result<_, _>>()?;
        Ok(Event::ToolCallResult { result, refusal, limit, added })
    }
}

/// A call of the model, or of a hook that has a name.
#[derive(Serialize, Deserialize)]
struct IntentDisk<'a> {
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, Value>,
    target: Option<TargetDisk<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    injects: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct TargetDisk<'a> {
    item_id: Cow<'a, str>,
    capability: Cow<'a, str>,
    effect: Cow<'a, str>,
}

impl<'a> IntentDisk<'a> {
    fn of(
        call_id: &'a str,
        name: &'a str,
        arguments: &'a Value,
        target: Option<&'a Target>,
    ) -> Self {
        let target = target.map(|target| TargetDisk {
            item_id: Cow::Borrowed(&target.item_id),
            capability: Cow::Borrowed(&target.capability),
            effect: Cow::Borrowed(target.effect.as_str()),
        });
        Self {
            call_id: Cow::Borrowed(call_id),
            name: Cow::Borrowed(name),
            arguments: Cow::Borrowed(arguments),
            target,
            hook: None,
            injects: None,
        }
    }

    fn into_event(self) -> Result<Event, String> {
        let call_id = self.call_id.into_owned();
        let name = self.name.into_owned();
        let arguments = self.arguments.into_owned();
        let target = self.target.map(TargetDisk::into_target).transpose()?;
        let Some(hook) = self.hook else {
            return Ok(Event::ToolCallStart { call_id, name, arguments, target });
        };
        let hook = hook.into_owned();
        let injects = self.injects.unwrap_or_default();
        Ok(Event::HookCallStart { hook, call_id, injects, name, arguments, target })
    }
}

impl TargetDisk<'_> {
    fn into_target(self) -> Result<Target, String> {
        Ok(Target::new(&self.item_id, &self.capability, value_named(&self.effect, "an effect")?))
    }
}
