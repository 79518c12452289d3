//! The payloads of infrequent events. Each struct is the one description of its payload, written and read in this order.

use std::collections::BTreeMap;
use std::time::Duration;

use rye_sign::Digest;
use rye_types::{HookEffect, HookEvent, Moment, Nanos, Prices, ThreadState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::disk::{FailureDisk, LimitsDisk};
use crate::json::{Shown, value_named};
use crate::message::disk::UsageDisk;
use crate::tool_spec::disk::ToolDisk;
use crate::wire::{FORMAT, VERSION};
use crate::{ApprovalRequest, Decision, Event, Injected, ProviderInfo, Retry, ThreadId, Triggered};

/// `approval_decided`. The question is another record.
#[derive(Serialize, Deserialize)]
pub(super) struct DecidedDisk {
    call_id: String,
    arguments_sha256: String,
    decision: String,
    by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl DecidedDisk {
    pub(super) fn of(request: &ApprovalRequest, decision: &Decision, by: &str) -> Self {
        Self {
            call_id: request.call_id.clone(),
            arguments_sha256: request.sha256.clone(),
            decision: decision.as_str().to_owned(),
            by: by.to_owned(),
            reason: decision.reason().map(|reason| reason.as_str().to_owned()),
        }
    }

    pub(super) fn decision(&self) -> Result<Decision, String> {
        Decision::read(&self.decision, self.reason.as_deref())
    }

    pub(super) fn into_event(self, asked: Option<&ApprovalRequest>) -> Result<Event, String> {
        let request = asked.filter(|request| request.call_id == self.call_id).cloned();
        let request = request.ok_or_else(|| format!("call `{}` did not wait", self.call_id))?;
        let decision = self.decision()?;
        Ok(Event::ApprovalDecided { request, decision, by: self.by })
    }
}

/// `approval_requested`.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestDisk {
    call_id: String,
    item_id: String,
    arguments: Value,
    arguments_sha256: String,
    reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    covers: Vec<String>,
}

impl RequestDisk {
    pub(super) fn of(request: &ApprovalRequest) -> Self {
        Self {
            call_id: request.call_id.clone(),
            item_id: request.item_id.clone(),
            arguments: request.arguments.clone(),
            arguments_sha256: request.sha256.clone(),
            reason: request.reason.as_str().to_owned(),
            covers: request.covers.clone(),
        }
    }

    pub(super) fn into_request(self, thread: &ThreadId) -> Result<ApprovalRequest, String> {
        let Self { call_id, item_id, arguments, arguments_sha256: sha256, reason, covers } = self;
        let reason = value_named(&reason, "a reason for asking")?;
        let thread = thread.clone();
        Ok(ApprovalRequest { thread, call_id, item_id, arguments, sha256, reason, covers })
    }
}

/// `context_injected`.
#[derive(Serialize, Deserialize)]
pub(super) struct InjectedDisk {
    item_id: Option<String>,
    position: String,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
}

impl InjectedDisk {
    pub(super) fn of(injected: &Injected) -> Self {
        let Injected { item_id, position, sha256, hook } = injected.clone();
        Self { item_id, position, sha256, hook }
    }

    pub(super) fn into_event(self) -> Event {
        let Self { item_id, position, sha256, hook } = self;
        Event::ContextInjected(Injected { item_id, position, sha256, hook })
    }
}

/// `hook_triggered`.
#[derive(Serialize, Deserialize)]
pub(super) struct TriggeredDisk {
    evaluation: u64,
    hook_event: HookEvent,
    hook: String,
    declared_by: String,
    layer: u8,
    effect: Option<HookEffect>,
    failure: Option<FailureDisk>,
    #[serde(rename = "final")]
    is_final: bool,
    data: Value,
}

impl TriggeredDisk {
    pub(super) fn of(triggered: &Triggered) -> Self {
        Self {
            evaluation: triggered.evaluation,
            hook_event: triggered.event,
            hook: triggered.hook.clone(),
            declared_by: triggered.declared_by.clone(),
            layer: triggered.layer,
            effect: triggered.effect,
            failure: triggered.failure.as_ref().map(FailureDisk::of),
            is_final: triggered.is_final,
            data: triggered.data.clone(),
        }
    }

    pub(super) fn into_event(self) -> Result<Event, String> {
        Ok(Event::HookTriggered(Triggered {
            evaluation: self.evaluation,
            event: self.hook_event,
            hook: self.hook,
            declared_by: self.declared_by,
            layer: self.layer,
            effect: self.effect,
            failure: self.failure.map(FailureDisk::into_failure).transpose()?,
            is_final: self.is_final,
            data: self.data,
        }))
    }
}

/// The prices of a model, where they are known.
#[derive(Serialize, Deserialize)]
struct PricesDisk {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl PricesDisk {
    fn of(info: &ProviderInfo) -> Option<Self> {
        info.prices.as_ref().map(|prices| Self {
            input: prices.input.get(),
            output: prices.output.get(),
            cache_read: prices.cache_read.get(),
            cache_write: prices.cache_write.get(),
        })
    }
}

/// The record does not say how much the model reads and writes.
fn info(provider: &str, model: &str, prices: Option<PricesDisk>) -> ProviderInfo {
    let mut info = ProviderInfo::new(provider, model, 0, 0);
    info.prices = prices.map(|prices| Prices {
        input: Nanos::new(prices.input),
        output: Nanos::new(prices.output),
        cache_read: Nanos::new(prices.cache_read),
        cache_write: Nanos::new(prices.cache_write),
    });
    info
}

/// `model_fallback`.
#[derive(Serialize, Deserialize)]
pub(super) struct FallbackDisk {
    provider: String,
    model: String,
    nanos_per_million_tokens: Option<PricesDisk>,
    reason: String,
}

impl FallbackDisk {
    pub(super) fn of(provider: &ProviderInfo, reason: &str) -> Self {
        Self {
            provider: provider.provider.clone(),
            model: provider.model.clone(),
            nanos_per_million_tokens: PricesDisk::of(provider),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn into_event(self) -> Event {
        let provider = info(&self.provider, &self.model, self.nanos_per_million_tokens);
        Event::ModelFallback { provider, reason: self.reason }
    }
}

/// `request_failed`.
#[derive(Serialize, Deserialize)]
pub(super) struct FailedDisk {
    turn: u64,
    class: String,
    message: String,
    cost_nanos: u64,
}

impl FailedDisk {
    pub(super) fn of(turn: u64, class: &str, message: &str, cost: Nanos) -> Self {
        let (class, message) = (class.to_owned(), message.to_owned());
        Self { turn, class, message, cost_nanos: cost.get() }
    }

    pub(super) fn into_event(self) -> Event {
        let Self { turn, class, message, cost_nanos } = self;
        Event::RequestFailed { turn, class, message, cost: Nanos::new(cost_nanos) }
    }
}

/// `request_retried`.
#[derive(Serialize, Deserialize)]
pub(super) struct RetriedDisk {
    turn: u64,
    attempt: u32,
    attempts: u32,
    class: String,
    message: String,
    hint_millis: Option<u64>,
    wait_millis: u64,
    cost_nanos: u64,
    reserved_nanos: u64,
    /// Missing if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageDisk>,
}

impl RetriedDisk {
    pub(super) fn of(turn: u64, retry: &Retry, cost: Nanos, reserved: Nanos) -> Self {
        Self {
            turn,
            attempt: retry.attempt,
            attempts: retry.attempts,
            class: retry.class.as_str().to_owned(),
            message: retry.message.clone(),
            hint_millis: retry.hint.map(millis),
            wait_millis: millis(retry.wait),
            cost_nanos: cost.get(),
            reserved_nanos: reserved.get(),
            usage: retry.class.is_of_reply().then(|| UsageDisk::of(&retry.usage)),
        }
    }

    pub(super) fn into_event(self) -> Result<Event, String> {
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

/// `system_prompt`.
#[derive(Serialize, Deserialize)]
pub(super) struct SystemDisk {
    text: String,
    sha256: String,
}

impl SystemDisk {
    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), sha256: Digest::of(text.as_bytes()).to_string() }
    }

    pub(super) fn into_event(self) -> Event {
        Event::SystemPrompt { text: self.text }
    }
}

/// `thread_complete`.
#[derive(Serialize, Deserialize)]
pub(super) struct CompletedDisk {
    pub(super) turns: u64,
    pub(super) usage: UsageDisk,
    pub(super) cost_nanos: u64,
    pub(super) outputs: Option<Map<String, Value>>,
    pub(super) text: String,
}

impl CompletedDisk {
    pub(super) fn into_event(self) -> Event {
        let Self { turns, usage, cost_nanos, outputs, text } = self;
        let (usage, cost) = (usage.into_usage(), Nanos::new(cost_nanos));
        Event::ThreadComplete { outputs, text, turns, usage, cost }
    }
}

/// `thread_continued`.
#[derive(Serialize, Deserialize)]
pub(super) struct ContinuedDisk {
    pub(super) turns: u64,
    pub(super) usage: UsageDisk,
    pub(super) cost_nanos: u64,
    pub(super) next: Shown<ThreadId>,
    pub(super) limits: LimitsDisk,
    pub(super) text: String,
}

impl ContinuedDisk {
    pub(super) fn into_event(self) -> Event {
        let Self { turns, usage, cost_nanos, next: Shown(next), limits, text } = self;
        let (usage, cost) = (usage.into_usage(), Nanos::new(cost_nanos));
        let limits = limits.into_limits();
        Event::ThreadContinued { next, limits, text, turns, usage, cost }
    }
}

/// `thread_error`.
#[derive(Serialize, Deserialize)]
pub(super) struct StoppedDisk {
    pub(super) turns: u64,
    pub(super) usage: UsageDisk,
    pub(super) cost_nanos: u64,
    pub(super) state: Shown<ThreadState>,
    pub(super) failure: Option<FailureDisk>,
}

impl StoppedDisk {
    pub(super) fn into_event(self) -> Result<Event, String> {
        let Self { turns, usage, cost_nanos, state: Shown(state), failure } = self;
        let (usage, cost) = (usage.into_usage(), Nanos::new(cost_nanos));
        let failure = failure.map(FailureDisk::into_failure).transpose()?;
        Ok(Event::ThreadError { state, failure, turns, usage, cost })
    }
}

/// `thread_resumed`.
#[derive(Serialize, Deserialize)]
pub(super) struct ResumedDisk {
    pub(super) opening: u64,
    pub(super) cut_bytes: u64,
    pub(super) facts: Map<String, Value>,
    pub(super) cost_nanos: u64,
    pub(super) elapsed_millis: u64,
    pub(super) signed_by: String,
    /// Missing if no limit was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) limits: Option<LimitsDisk>,
}

impl ResumedDisk {
    pub(super) fn into_event(self) -> Event {
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

/// `thread_start`.
#[derive(Serialize, Deserialize)]
pub(super) struct StartDisk {
    format: String,
    version: u64,
    provider: String,
    model: String,
    nanos_per_million_tokens: Option<PricesDisk>,
    limits: LimitsDisk,
    tools: Vec<ToolDisk>,
    palette: BTreeMap<String, String>,
    facts: Map<String, Value>,
    root: Shown<ThreadId>,
    created: Shown<Moment>,
    signed_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Shown<ThreadId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continues: Option<Shown<ThreadId>>,
}

impl StartDisk {
    /// The payload of a `thread_start`; `None` for another event.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::ThreadStart {
            provider,
            limits,
            tools,
            palette,
            facts,
            root,
            parent,
            continues,
            created,
            signed_by,
        } = event
        else {
            return None;
        };
        Some(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            provider: provider.provider.clone(),
            model: provider.model.clone(),
            nanos_per_million_tokens: PricesDisk::of(provider),
            limits: LimitsDisk::of(limits),
            tools: tools.iter().map(ToolDisk::of).collect(),
            palette: palette.clone(),
            facts: facts.clone(),
            root: Shown(root.clone()),
            created: Shown(*created),
            signed_by: signed_by.clone(),
            parent: parent.clone().map(Shown),
            continues: continues.clone().map(Shown),
        })
    }

    pub(super) fn into_event(self) -> Event {
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

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
