//! The events of records, read back from their payloads.

use std::sync::Arc;

use rye_types::Nanos;
use serde::Deserialize;

use super::rare::{
    CompletedDisk, ContinuedDisk, DecidedDisk, FailedDisk, FallbackDisk, InjectedDisk, RequestDisk,
    ResumedDisk, RetriedDisk, StartDisk, StoppedDisk, SystemDisk, TriggeredDisk,
};
use super::{IntentDisk, ReceiptDisk, StepFinishDisk, StepStartDisk, TextDisk};
use crate::added::disk::AddedDisk;
use crate::child_end::ChildEndDisk;
use crate::spawn::disk::SpawnDisk;
use crate::{ApprovalRequest, Event, Record};

/// Reads the events of records in their order.
///
/// A decision on a call has the request that precedes it.
///
/// # Errors
///
/// The reason in words, for each event that this version cannot read.
pub fn recorded_events<'r>(
    records: impl IntoIterator<Item = &'r Record>,
) -> impl Iterator<Item = Result<Event, String>> {
    let mut asked: Option<ApprovalRequest> = None;
    records.into_iter().map(move |record| {
        let event = read(record, asked.as_ref())?;
        if let Event::ApprovalRequested(request) = &event {
            asked = Some(request.clone());
        }
        Ok(event)
    })
}

/// Reads the event of one record.
///
/// # Errors
///
/// The reason in words, if this version cannot read it. A decision on a call cannot be read without the records before it.
pub fn recorded_event(record: &Record) -> Result<Event, String> {
    read(record, None)
}

fn read(record: &Record, asked: Option<&ApprovalRequest>) -> Result<Event, String> {
    Ok(match record.event.as_str() {
        "approval_decided" => record.payload_as::<DecidedDisk>()?.into_event(asked)?,
        "approval_requested" => Event::ApprovalRequested(
            record.payload_as::<RequestDisk>()?.into_request(&record.thread)?,
        ),
        "assistant_reasoning" => Event::AssistantReasoning { text: text(record)? },
        "assistant_text" => Event::AssistantText { text: text(record)? },
        "checkpoint" => Event::Checkpoint { checkpoint: record.payload_as()? },
        "child_ended" => Event::ChildEnded(record.payload_as::<ChildEndDisk>()?.into_end()),
        "context_injected" => record.payload_as::<InjectedDisk>()?.into_event(),
        "hook_triggered" => record.payload_as::<TriggeredDisk>()?.into_event()?,
        "model_fallback" => record.payload_as::<FallbackDisk>()?.into_event(),
        "request_failed" => record.payload_as::<FailedDisk>()?.into_event(),
        "request_retried" => record.payload_as::<RetriedDisk>()?.into_event()?,
        "spawn_child" => Event::SpawnChild(record.payload_as::<SpawnDisk>()?.into_spawn()),
        "step_finish" => {
            let StepFinishDisk { turn, reply, cost_nanos } = record.payload_as()?;
            let reply = Arc::new(reply.into_reply());
            Event::StepFinish { turn, reply, cost: Nanos::new(cost_nanos) }
        }
        "step_start" => {
            let StepStartDisk { turn, reserved_nanos, max_output_tokens } = record.payload_as()?;
            Event::StepStart { turn, reserved: Nanos::new(reserved_nanos), max_output_tokens }
        }
        "system_prompt" => record.payload_as::<SystemDisk>()?.into_event(),
        "thread_complete" => record.payload_as::<CompletedDisk>()?.into_event(),
        "thread_continued" => record.payload_as::<ContinuedDisk>()?.into_event(),
        "thread_error" => record.payload_as::<StoppedDisk>()?.into_event()?,
        "thread_resumed" => record.payload_as::<ResumedDisk>()?.into_event(),
        "thread_start" => record.payload_as::<StartDisk>()?.into_event(),
        "tool_call_result" => record.payload_as::<ReceiptDisk<'_>>()?.into_event()?,
        "tool_call_start" => record.payload_as::<IntentDisk<'_>>()?.into_event()?,
        "user_message" => Event::UserMessage { text: text(record)? },
        other => return Err(format!("this version knows no event `{other}`")),
    })
}

/// Checks that the record of an event which decides on authority or on the state of the thread can be read.
///
/// # Errors
///
/// The reason in words.
pub(crate) fn check_decisions(record: &Record) -> Result<(), String> {
    match record.event.as_str() {
        "approval_decided" => record.payload_as::<DecidedDisk>()?.decision().map(drop),
        "approval_requested" => {
            record.payload_as::<RequestDisk>()?.into_request(&record.thread).map(drop)
        }
        "model_fallback" => record.payload_as::<FallbackDisk>().map(drop),
        "thread_complete" => record.payload_as::<CompletedDisk>().map(drop),
        "thread_continued" => record.payload_as::<ContinuedDisk>().map(drop),
        "thread_error" => record.payload_as::<StoppedDisk>()?.into_event().map(drop),
        "tool_call_result" => {
            let TakenDisk { added } = record.payload_as()?;
            added.into_iter().try_for_each(|added| added.into_added().map(drop))
        }
        _ => Ok(()),
    }
}

/// The items that a call brought into the conversation, whose signers bound what follows.
#[derive(Deserialize)]
struct TakenDisk {
    #[serde(default)]
    added: Vec<AddedDisk>,
}

fn text(record: &Record) -> Result<String, String> {
    record.payload_as().map(|TextDisk { text }| text.into_owned())
}
