//! The events of records, read back from their payloads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rye_types::{HookEffect, HookEvent, Moment, Nanos, Prices, ThreadState};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{IntentDisk, ReceiptDisk, StepFinishDisk, StepStartDisk, TextDisk};
use crate::added::disk::AddedDisk;
use crate::child_end::ChildEndDisk;
use crate::failure::disk::{FailureDisk, LimitsDisk};
use crate::json::{Shown, value_named};
use crate::message::disk::UsageDisk;
use crate::spawn::disk::SpawnDisk;
use crate::tool_spec::disk::ToolDisk;
use crate::{
    ApprovalRequest, Decision, Event, Injected, ProviderInfo, Record, Retry, ThreadId, Triggered,
};

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
        "context_injected" => {
            let InjectedDisk { item_id, position, sha256, hook } = record.payload_as()?;
            Event::ContextInjected(Injected { item_id, position, sha256, hook })
        }
        "hook_triggered" => {
            Event::HookTriggered(record.payload_as::<TriggeredDisk>()?.into_triggered()?)
        }
        "model_fallback" => {
            let FallbackDisk { provider, model, nanos_per_million_tokens, reason } =
                record.payload_as()?;
            Event::ModelFallback {
                provider: info(&provider, &model, nanos_per_million_tokens),
                reason,
            }
        }
        "request_failed" => {
            let FailedDisk { turn, class, message, cost_nanos } = record.payload_as()?;
            Event::RequestFailed { turn, class, message, cost: Nanos::new(cost_nanos) }
        }
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
        "system_prompt" => Event::SystemPrompt { text: text(record)? },
        "thread_complete" | "thread_continued" | "thread_error" => end(record)?,
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
        "approval_decided" => {
            let DecidedDisk { decision, reason, .. } = record.payload_as()?;
            Decision::read(&decision, reason.as_deref()).map(drop)
        }
        "approval_requested" => {
            record.payload_as::<RequestDisk>()?.into_request(&record.thread).map(drop)
        }
        "model_fallback" => record.payload_as::<FallbackDisk>().map(drop),
        "thread_complete" | "thread_continued" | "thread_error" => end(record).map(drop),
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

fn end(record: &Record) -> Result<Event, String> {
    let EndDisk { turns, usage, cost_nanos } = record.payload_as()?;
    let usage = usage.into_usage();
    let cost = Nanos::new(cost_nanos);
    Ok(match record.event.as_str() {
        "thread_complete" => {
            let CompletedDisk { outputs, text } = record.payload_as()?;
            Event::ThreadComplete { outputs, text, turns, usage, cost }
        }
        "thread_continued" => {
            let ContinuedDisk { next: Shown(next), limits, text } = record.payload_as()?;
            let limits = limits.into_limits();
            Event::ThreadContinued { next, limits, text, turns, usage, cost }
        }
        _ => {
            let StoppedDisk { state: Shown(state), failure } = record.payload_as()?;
            let failure = failure.map(FailureDisk::into_failure).transpose()?;
            Event::ThreadError { state, failure, turns, usage, cost }
        }
    })
}

fn info(provider: &str, model: &str, prices: Option<PricesDisk>) -> ProviderInfo {
    // The record does not say how much the model reads and writes.
    let mut info = ProviderInfo::new(provider, model, 0, 0);
    info.prices = prices.map(|prices| Prices {
        input: Nanos::new(prices.input),
        output: Nanos::new(prices.output),
        cache_read: Nanos::new(prices.cache_read),
        cache_write: Nanos::new(prices.cache_write),
    });
    info
}

#[derive(Deserialize)]
struct DecidedDisk {
    call_id: String,
    decision: String,
    by: String,
    reason: Option<String>,
}

impl DecidedDisk {
    fn into_event(self, asked: Option<&ApprovalRequest>) -> Result<Event, String> {
        let request = asked.filter(|request| request.call_id == self.call_id).cloned();
        let request = request.ok_or_else(|| format!("call `{}` did not wait", self.call_id))?;
        let decision = Decision::read(&self.decision, self.reason.as_deref())?;
        Ok(Event::ApprovalDecided { request, decision, by: self.by })
    }
}

#[derive(Deserialize)]
struct RequestDisk {
    call_id: String,
    item_id: String,
    arguments: Value,
    arguments_sha256: String,
    reason: String,
    #[serde(default)]
    covers: Vec<String>,
}

impl RequestDisk {
    fn into_request(self, thread: &ThreadId) -> Result<ApprovalRequest, String> {
        let Self { call_id, item_id, arguments, arguments_sha256: sha256, reason, covers } = self;
        let reason = value_named(&reason, "a reason for asking")?;
        let thread = thread.clone();
        Ok(ApprovalRequest { thread, call_id, item_id, arguments, sha256, reason, covers })
    }
}

#[derive(Deserialize)]
struct InjectedDisk {
    item_id: Option<String>,
    position: String,
    sha256: String,
    hook: Option<String>,
}

#[derive(Deserialize)]
struct TriggeredDisk {
    evaluation: u64,
    hook_event: Shown<HookEvent>,
    hook: String,
    declared_by: String,
    layer: u8,
    effect: Option<Shown<HookEffect>>,
    failure: Option<FailureDisk>,
    #[serde(rename = "final")]
    is_final: bool,
    data: Value,
}

impl TriggeredDisk {
    fn into_triggered(self) -> Result<Triggered, String> {
        Ok(Triggered {
            evaluation: self.evaluation,
            event: self.hook_event.0,
            hook: self.hook,
            declared_by: self.declared_by,
            layer: self.layer,
            effect: self.effect.map(|Shown(effect)| effect),
            failure: self.failure.map(FailureDisk::into_failure).transpose()?,
            is_final: self.is_final,
            data: self.data,
        })
    }
}

#[derive(Deserialize)]
struct FallbackDisk {
    provider: String,
    model: String,
    nanos_per_million_tokens: Option<PricesDisk>,
    reason: String,
}

#[derive(Deserialize)]
struct PricesDisk {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Deserialize)]
struct FailedDisk {
    turn: u64,
    class: String,
    message: String,
    cost_nanos: u64,
}

#[derive(Deserialize)]
struct RetriedDisk {
    turn: u64,
    attempt: u32,
    attempts: u32,
    class: String,
    message: String,
    hint_millis: Option<u64>,
    wait_millis: u64,
    cost_nanos: u64,
    reserved_nanos: u64,
    usage: Option<UsageDisk>,
}

impl RetriedDisk {
    fn into_event(self) -> Result<Event, String> {
        let class = value_named(&self.class, "a class of provider error")?;
        let mut retry = Retry::new(self.attempt, self.attempts, class, &self.message);
        retry.hint = self.hint_millis.map(Duration::from_millis);
        retry.wait = Duration::from_millis(self.wait_millis);
        retry.usage = self.usage.map(UsageDisk::into_usage).unwrap_or_default();
        let cost = Nanos::new(self.cost_nanos);
        let reserved = Nanos::new(self.reserved_nanos);
        Ok(Event::RequestRetried { turn: self.turn, retry, cost, reserved })
    }
}

/// The totals of a thread, which each end has.
#[derive(Deserialize)]
struct EndDisk {
    turns: u64,
    usage: UsageDisk,
    cost_nanos: u64,
}

#[derive(Deserialize)]
struct CompletedDisk {
    outputs: Option<Map<String, Value>>,
    text: String,
}

#[derive(Deserialize)]
struct ContinuedDisk {
    next: Shown<ThreadId>,
    limits: LimitsDisk,
    text: String,
}

#[derive(Deserialize)]
struct StoppedDisk {
    state: Shown<ThreadState>,
    failure: Option<FailureDisk>,
}

#[derive(Deserialize)]
struct ResumedDisk {
    opening: u64,
    cut_bytes: u64,
    facts: Map<String, Value>,
    cost_nanos: u64,
    elapsed_millis: u64,
    signed_by: String,
    limits: Option<LimitsDisk>,
}

impl ResumedDisk {
    fn into_event(self) -> Event {
        Event::ThreadResumed {
            opening: self.opening,
            cut_bytes: self.cut_bytes,
            facts: self.facts,
            cost: Nanos::new(self.cost_nanos),
            elapsed: Duration::from_millis(self.elapsed_millis),
            signed_by: self.signed_by,
            limits: self.limits.map(LimitsDisk::into_limits),
        }
    }
}

#[derive(Deserialize)]
struct StartDisk {
    provider: String,
    model: String,
    nanos_per_million_tokens: Option<PricesDisk>,
    limits: LimitsDisk,
    tools: Vec<ToolDisk>,
    palette: BTreeMap<String, String>,
    facts: Map<String, Value>,
    root: Shown<ThreadId>,
    parent: Option<Shown<ThreadId>>,
    continues: Option<Shown<ThreadId>>,
    created: Shown<Moment>,
    signed_by: String,
}

impl StartDisk {
    fn into_event(self) -> Event {
        Event::ThreadStart {
            provider: info(&self.provider, &self.model, self.nanos_per_million_tokens),
            limits: self.limits.into_limits(),
            tools: self.tools.into_iter().map(ToolDisk::into_tool).collect(),
            palette: self.palette,
            facts: self.facts,
            root: self.root.0,
            parent: self.parent.map(|Shown(parent)| parent),
            continues: self.continues.map(|Shown(continues)| continues),
            created: self.created.0,
            signed_by: self.signed_by,
        }
    }
}
