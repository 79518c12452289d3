//! The transcript for people, rendered from the records alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::markdown;
use crate::child_end::ChildEndDisk;
use crate::failure::disk::{FailureDisk, LimitsDisk, RefusalDisk};
use crate::message::disk::UsageDisk;
use crate::spawn::disk::SpawnDisk;
use crate::{
    Event, Injected, Limits, Moment, Nanos, ProviderErrorClass, ProviderInfo, Record, Reply, Retry,
    StopReason, ThreadId, ThreadState, ToolResult, Usage,
};

/// Returns the same text as [`markdown`] for the recorded events.
///
/// Returns `None` if a newer version recorded an event that this one cannot render.
#[must_use]
pub fn markdown_of(records: &[Record]) -> Option<String> {
    let mut asked = HashMap::new();
    records.iter().map(|record| render(record, &mut asked)).collect()
}

/// Renders one record. `asked` holds the item of each call that waited for approval, by the id of the call.
fn render(record: &Record, asked: &mut HashMap<String, String>) -> Option<String> {
    match record.event.as_str() {
        "checkpoint" | "step_start" => return Some(String::new()),
        "approval_requested" => {
            let AskedWire { call_id, item_id, arguments } = payload(record)?;
            let text = super::waiting(&item_id, &arguments);
            asked.insert(call_id, item_id);
            return Some(text);
        }
        "approval_decided" => {
            let DecidedWire { call_id, decision, by, reason } = payload(record)?;
            return Some(super::approval_decision(
                asked.get(&call_id)?,
                &decision,
                &by,
                reason.as_deref(),
            ));
        }
        "hook_triggered" => {
            let HookWire { hook, hook_event, effect } = payload(record)?;
            return Some(super::hook_line(&hook, &hook_event, effect.as_deref()));
        }
        _ => {}
    }
    event(record).map(|event| markdown(&event, record.at))
}

/// Returns the event, with the parts that are rendered.
fn event(record: &Record) -> Option<Event> {
    Some(match record.event.as_str() {
        "assistant_reasoning" => Event::AssistantReasoning { text: text(record)? },
        "assistant_text" => Event::AssistantText { text: text(record)? },
        "system_prompt" => Event::SystemPrompt { text: text(record)? },
        "user_message" => Event::UserMessage { text: text(record)? },
        "context_injected" => {
            let PlaceWire { item_id, position } = payload(record)?;
            Event::ContextInjected(Injected::new(item_id.as_deref(), &position, ""))
        }
        "model_fallback" => {
            let wire: ModelWire = payload(record)?;
            Event::ModelFallback { provider: wire.info(), reason: wire.reason }
        }
        "request_failed" => payload::<FailedWire>(record)?.event(),
        "request_retried" => payload::<RetriedWire>(record)?.event()?,
        "child_ended" => Event::ChildEnded(payload::<ChildEndDisk>(record)?.into_end().ok()?),
        "spawn_child" => Event::SpawnChild(payload::<SpawnDisk>(record)?.into_spawn().ok()?),
        "step_finish" => payload::<FinishWire>(record)?.event(),
        "thread_start" => start(&payload(record)?, &record.thread),
        "thread_resumed" => {
            let ResumedWire { opening, limits } = payload(record)?;
            let facts = Map::new();
            let cost = Nanos::ZERO;
            let elapsed = Duration::ZERO;
            let signed_by = String::new();
            let limits = limits.map(LimitsDisk::into_limits);
            Event::ThreadResumed { opening, cut_bytes: 0, facts, cost, elapsed, signed_by, limits }
        }
        "tool_call_start" => payload::<CallWire>(record)?.event(),
        "tool_call_result" => payload::<ResultWire>(record)?.event(),
        _ => payload::<EndWire>(record)?.event(&record.event)?,
    })
}

fn start(wire: &ModelWire, root: &ThreadId) -> Event {
    Event::ThreadStart {
        provider: wire.info(),
        limits: Limits::default(),
        tools: Vec::new(),
        palette: BTreeMap::new(),
        facts: wire.facts.clone(),
        root: root.clone(),
        parent: None,
        continues: None,
        created: Moment::from_unix_millis(0),
        signed_by: String::new(),
    }
}

fn text(record: &Record) -> Option<String> {
    payload::<TextWire>(record).map(|wire| wire.text)
}

fn payload<T: DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_str(record.payload.get()).ok()
}

#[derive(Deserialize)]
struct AskedWire {
    call_id: String,
    item_id: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct DecidedWire {
    call_id: String,
    decision: String,
    by: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct HookWire {
    hook: String,
    hook_event: String,
    effect: Option<String>,
}

#[derive(Deserialize)]
struct TextWire {
    text: String,
}

#[derive(Deserialize)]
struct PlaceWire {
    item_id: Option<String>,
    position: String,
}

#[derive(Deserialize)]
struct ResumedWire {
    opening: u64,
    limits: Option<LimitsDisk>,
}

#[derive(Deserialize)]
struct ModelWire {
    provider: String,
    model: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    facts: Map<String, Value>,
}

impl ModelWire {
    fn info(&self) -> ProviderInfo {
        ProviderInfo::new(&self.provider, &self.model, 0, 0)
    }
}

#[derive(Deserialize)]
struct FailedWire {
    turn: u64,
    class: String,
    message: String,
    cost_nanos: u64,
}

impl FailedWire {
    fn event(self) -> Event {
        let Self { turn, class, message, cost_nanos } = self;
        Event::RequestFailed { turn, class, message, cost: Nanos::new(cost_nanos) }
    }
}

#[derive(Deserialize)]
struct RetriedWire {
    turn: u64,
    attempt: u32,
    attempts: u32,
    class: String,
    message: String,
    wait_millis: u64,
    cost_nanos: u64,
}

impl RetriedWire {
    fn event(self) -> Option<Event> {
        let class = ProviderErrorClass::ALL.iter().copied().find(|it| it.as_str() == self.class)?;
        let mut retry = Retry::new(self.attempt, self.attempts, class, &self.message);
        retry.wait = Duration::from_millis(self.wait_millis);
        let cost = Nanos::new(self.cost_nanos);
        let reserved = Nanos::ZERO;
        Some(Event::RequestRetried { turn: self.turn, retry, cost, reserved })
    }
}

#[derive(Deserialize)]
struct FinishWire {
    turn: u64,
    reply: CountedWire,
    cost_nanos: u64,
}

#[derive(Deserialize)]
struct CountedWire {
    usage: UsageDisk,
}

impl FinishWire {
    fn event(self) -> Event {
        let mut reply = Reply::new(RawValue::NULL.to_owned(), StopReason::EndTurn);
        reply.usage = self.reply.usage.into_usage();
        let cost = Nanos::new(self.cost_nanos);
        Event::StepFinish { turn: self.turn, reply: Arc::new(reply), cost }
    }
}

#[derive(Deserialize)]
struct CallWire {
    call_id: String,
    name: String,
    arguments: Value,
    target: Option<TargetWire>,
    hook: Option<String>,
}

#[derive(Deserialize)]
struct TargetWire {
    item_id: String,
}

impl CallWire {
    fn event(self) -> Event {
        let Self { call_id, name, arguments, target, hook } = self;
        let Some(hook) = hook else {
            return Event::ToolCallStart { call_id, name, arguments, target: None };
        };
        // A hook's call is rendered with its item id.
        let name = target.map_or(name, |target| target.item_id);
        Event::HookCallStart { hook, call_id, injects: false, name, arguments, target: None }
    }
}

#[derive(Deserialize)]
struct ResultWire {
    call_id: String,
    name: String,
    content: Value,
    is_error: bool,
    refusal: Option<RefusalDisk>,
    hook: Option<String>,
}

impl ResultWire {
    fn event(self) -> Event {
        let Self { call_id, name, content, is_error, refusal, hook } = self;
        let result = ToolResult { call_id, name, content, is_error };
        let refusal = refusal.map(RefusalDisk::into_refusal);
        match hook {
            Some(hook) => Event::HookCallResult { hook, result, refusal },
            None => Event::ToolCallResult { result, refusal: None, limit: None, added: Vec::new() },
        }
    }
}

#[derive(Deserialize)]
struct EndWire {
    turns: u64,
    cost_nanos: u64,
    state: Option<String>,
    next: Option<String>,
    outputs: Option<Map<String, Value>>,
    failure: Option<FailureDisk>,
}

impl EndWire {
    fn event(self, name: &str) -> Option<Event> {
        let Self { turns, cost_nanos, state, next, outputs, failure } = self;
        let cost = Nanos::new(cost_nanos);
        let usage = Usage::default();
        let text = String::new();
        Some(match name {
            "thread_complete" => Event::ThreadComplete { outputs, text, turns, usage, cost },
            "thread_continued" => {
                let next = next?.parse().ok()?;
                let limits = Limits::default();
                Event::ThreadContinued { next, limits, text, turns, usage, cost }
            }
            "thread_error" => {
                let state: ThreadState = state?.parse().ok()?;
                let failure = failure.map(FailureDisk::into_failure).transpose().ok()?;
                Event::ThreadError { state, failure, turns, usage, cost }
            }
            _ => return None,
        })
    }
}
