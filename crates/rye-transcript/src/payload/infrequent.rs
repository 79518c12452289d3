//! The payloads of infrequent events, as values.

use std::time::Duration;

use rye_sign::Digest;
use rye_types::{HookEffect, Nanos, Prices, Usage};
use serde_json::{Value, json};

use crate::child_end::ChildEndDisk;
use crate::failure::disk::{FailureDisk, LimitsDisk};
use crate::message::disk::UsageDisk;
use crate::spawn::disk::SpawnDisk;
use crate::tool_spec::disk::ToolDisk;
use crate::wire::{FORMAT, VERSION};
use crate::{ApprovalRequest, Decision, Event, Injected, ProviderInfo, Retry, Triggered};

/// Returns the payload of an infrequent event.
pub(super) fn value(event: &Event) -> Value {
    match event {
        Event::ApprovalDecided { request, decision, by } => {
            approval_decision(request, decision, by)
        }
        Event::ApprovalRequested(request) => approval_request(request),
        Event::ContextInjected(injected) => context(injected),
        Event::HookTriggered(triggered) => hook(triggered),
        Event::ModelFallback { provider, reason } => {
            let mut value = model(provider);
            value["reason"] = json!(reason);
            value
        }
        Event::RequestFailed { turn, class, message, cost } => {
            json!({ "turn": turn, "class": class, "message": message, "cost_nanos": cost.get() })
        }
        Event::RequestRetried { turn, retry, cost, reserved } => {
            request_retry(*turn, retry, *cost, *reserved)
        }
        Event::ChildEnded(end) => json!(ChildEndDisk::of(end)),
        Event::SpawnChild(spawn) => json!(SpawnDisk::of(spawn)),
        Event::SystemPrompt { text } => {
            json!({ "text": text, "sha256": Digest::of(text.as_bytes()).to_string() })
        }
        Event::ThreadResumed { .. } => resumption(event),
        Event::ThreadStart { .. } => start(event),
        Event::ThreadComplete { outputs, text, turns, usage, cost } => {
            let mut value = totals(*turns, usage, *cost);
            value["outputs"] = json!(outputs);
            value["text"] = json!(text);
            value
        }
        Event::ThreadContinued { next, limits, text, turns, usage, cost } => {
            let mut value = totals(*turns, usage, *cost);
            value["next"] = json!(next.as_str());
            value["limits"] = json!(LimitsDisk::of(limits));
            value["text"] = json!(text);
            value
        }
        Event::ThreadError { state, failure, turns, usage, cost } => {
            let mut value = totals(*turns, usage, *cost);
            value["state"] = json!(state.as_str());
            value["failure"] = json!(failure.as_ref().map(FailureDisk::of));
            value
        }
        // Serialized directly.
        Event::AssistantReasoning { .. }
        | Event::AssistantText { .. }
        | Event::Checkpoint { .. }
        | Event::HookCallResult { .. }
        | Event::HookCallStart { .. }
        | Event::StepFinish { .. }
        | Event::StepStart { .. }
        | Event::ToolCallResult { .. }
        | Event::ToolCallStart { .. }
        | Event::UserMessage { .. } => Value::Null,
    }
}

fn approval_request(request: &ApprovalRequest) -> Value {
    let mut value = json!({
        "call_id": request.call_id,
        "item_id": request.item_id,
        "arguments": request.arguments,
        "arguments_sha256": request.sha256,
        "reason": request.reason.as_str(),
    });
    if !request.covers.is_empty() {
        value["covers"] = json!(request.covers);
    }
    value
}

fn approval_decision(request: &ApprovalRequest, decision: &Decision, by: &str) -> Value {
    let mut value = json!({
        "call_id": request.call_id,
        "arguments_sha256": request.sha256,
        "decision": decision.as_str(),
        "by": by,
    });
    if let Some(reason) = decision.reason() {
        value["reason"] = json!(reason.as_str());
    }
    value
}

fn resumption(event: &Event) -> Value {
    let Event::ThreadResumed { opening, cut_bytes, facts, cost, elapsed, signed_by, limits } =
        event
    else {
        return Value::Null;
    };
    let mut value = json!({
        "opening": opening,
        "cut_bytes": cut_bytes,
        "facts": facts,
        "cost_nanos": cost.get(),
        "elapsed_millis": millis(*elapsed),
        "signed_by": signed_by,
    });
    if let Some(limits) = limits {
        value["limits"] = json!(LimitsDisk::of(limits));
    }
    value
}

fn request_retry(turn: u64, retry: &Retry, cost: Nanos, reserved: Nanos) -> Value {
    let mut value = json!({
        "turn": turn,
        "attempt": retry.attempt,
        "attempts": retry.attempts,
        "class": retry.class.as_str(),
        "message": retry.message,
        "hint_millis": retry.hint.map(millis),
        "wait_millis": millis(retry.wait),
        "cost_nanos": cost.get(),
        "reserved_nanos": reserved.get(),
    });
    if retry.class.is_of_reply() {
        value["usage"] = json!(UsageDisk::of(&retry.usage));
    }
    value
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn context(injected: &Injected) -> Value {
    let mut value = json!({
        "item_id": injected.item_id,
        "position": injected.position,
        "sha256": injected.sha256,
    });
    if let Some(hook) = &injected.hook {
        value["hook"] = json!(hook);
    }
    value
}

fn hook(triggered: &Triggered) -> Value {
    json!({
        "evaluation": triggered.evaluation,
        "hook_event": triggered.event.as_str(),
        "hook": triggered.hook,
        "declared_by": triggered.declared_by,
        "layer": triggered.layer,
        "effect": triggered.effect.map(HookEffect::as_str),
        "failure": triggered.failure.as_ref().map(FailureDisk::of),
        "final": triggered.is_final,
        "data": triggered.data,
    })
}

fn start(event: &Event) -> Value {
    let Event::ThreadStart { provider, limits, tools, palette, facts, root, signed_by, .. } = event
    else {
        return Value::Null;
    };
    let Event::ThreadStart { parent, continues, created, .. } = event else { return Value::Null };
    let tools: Vec<ToolDisk> = tools.iter().map(ToolDisk::of).collect();
    let mut value = json!({
        "format": FORMAT,
        "version": VERSION,
        "provider": provider.provider,
        "model": provider.model,
        "nanos_per_million_tokens": provider.prices.as_ref().map(prices),
        "limits": LimitsDisk::of(limits),
        "tools": tools,
        "palette": palette,
        "facts": facts,
        "root": root.as_str(),
        "created": created.to_string(),
        "signed_by": signed_by,
    });
    for (name, thread) in [("parent", parent), ("continues", continues)] {
        if let Some(thread) = thread {
            value[name] = json!(thread.as_str());
        }
    }
    value
}

fn model(provider: &ProviderInfo) -> Value {
    json!({
        "provider": provider.provider,
        "model": provider.model,
        "nanos_per_million_tokens": provider.prices.as_ref().map(prices),
    })
}

fn prices(prices: &Prices) -> Value {
    json!({
        "input": prices.input.get(),
        "output": prices.output.get(),
        "cache_read": prices.cache_read.get(),
        "cache_write": prices.cache_write.get(),
    })
}

fn totals(turns: u64, usage: &Usage, cost: Nanos) -> Value {
    json!({ "turns": turns, "usage": UsageDisk::of(usage), "cost_nanos": cost.get() })
}
