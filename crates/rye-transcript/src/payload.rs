//! The payload of an event's record, written without a copy.

mod infrequent;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use self::infrequent::value;
use crate::added::disk::AddedDisk;
use crate::failure::disk::{LimitHitDisk, RefusalDisk};
use crate::message::disk::ReplyDisk;
use crate::{Event, Refusal, Target, ToolResult};

/// Returns the payload as the record of the event holds it, for comparison with a record.
#[must_use]
pub fn recorded_payload(event: &Event) -> Box<RawValue> {
    to_raw_value(&Payload(event)).expect("because every part of it is plain JSON")
}

/// The payload of an event. Frequent events are written directly, and the rest through a [`Value`].
pub(crate) struct Payload<'a>(pub(crate) &'a Event);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Event::AssistantReasoning { text }
            | Event::AssistantText { text }
            | Event::UserMessage { text } => TextWire { text }.serialize(serializer),
            Event::Checkpoint { checkpoint } => checkpoint.serialize(serializer),
            Event::StepFinish { turn, reply, cost } => {
                let turn = *turn;
                let reply = ReplyDisk::of(reply);
                let cost_nanos = cost.get();
                StepFinishWire { turn, reply, cost_nanos }.serialize(serializer)
            }
            Event::StepStart { turn, reserved, max_output_tokens } => {
                let (turn, reserved_nanos, max_output_tokens) =
                    (*turn, reserved.get(), *max_output_tokens);
                StepStartWire { turn, reserved_nanos, max_output_tokens }.serialize(serializer)
            }
            Event::ToolCallResult { result, refusal, limit, added } => {
                let limit = limit.as_ref().map(LimitHitDisk::of);
                let added = added.iter().map(AddedDisk::of).collect();
                ReceiptWire { limit, added, ..ReceiptWire::of(result, refusal) }
                    .serialize(serializer)
            }
            Event::ToolCallStart { call_id, name, arguments, target } => {
                IntentWire::of(call_id, name, arguments, target.as_ref()).serialize(serializer)
            }
            other => value(other).serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct TextWire<'a> {
    text: &'a str,
}

/// The reply is written as raw JSON, which a `Value` would rewrite.
#[derive(Serialize)]
struct StepFinishWire<'a> {
    turn: u64,
    reply: ReplyDisk<'a>,
    cost_nanos: u64,
}

#[derive(Serialize)]
struct StepStartWire {
    turn: u64,
    reserved_nanos: u64,
    max_output_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct ReceiptWire<'a> {
    call_id: &'a str,
    name: &'a str,
    content: &'a Value,
    is_error: bool,
    refusal: Option<RefusalDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitHitDisk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added: Vec<AddedDisk>,
}

impl<'a> ReceiptWire<'a> {
    pub(super) fn of(result: &'a ToolResult, refusal: &Option<Refusal>) -> Self {
        let ToolResult { call_id, name, content, is_error } = result;
        let refusal = refusal.as_ref().map(RefusalDisk::of);
        Self {
            call_id,
            name,
            content,
            is_error: *is_error,
            refusal,
            limit: None,
            added: Vec::new(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct IntentWire<'a> {
    call_id: &'a str,
    name: &'a str,
    arguments: &'a Value,
    target: Option<TargetWire<'a>>,
}

#[derive(Serialize)]
struct TargetWire<'a> {
    item_id: &'a str,
    capability: &'a str,
    effect: &'a str,
}

impl<'a> IntentWire<'a> {
    pub(super) fn of(
        call_id: &'a str,
        name: &'a str,
        arguments: &'a Value,
        target: Option<&'a Target>,
    ) -> Self {
        let target = target.map(|target| TargetWire {
            item_id: &target.item_id,
            capability: &target.capability,
            effect: target.effect.as_str(),
        });
        Self { call_id, name, arguments, target }
    }
}
