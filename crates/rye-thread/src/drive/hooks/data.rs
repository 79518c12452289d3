//! The data that hooks read of an event. All of it follows from the record of the thread.

use rye_types::{HookEvent, LimitHit, SpendLimit, ThreadState};
use serde_json::{Map, Value, json};

use super::HookContext;
use crate::palette::Resolved;
use crate::{Failure, FailureKind, Hooks, Message, Palette, Refusal, Run, ToolCall, ToolResult};

/// An event at which hooks may act.
#[derive(Debug, Clone)]
pub(in crate::drive) enum Occasion {
    /// The thread is about to send its first request.
    Begins(HookEvent),
    Completed(ThreadState),
    /// The conversation nearly fills the window, or was refused for its length.
    ContextLimit(Option<Failure>),
    /// The thread is about to fail.
    Fails(Failure),
    /// A limit kept a call from starting a child, and the thread continues.
    Limited(Failure, LimitHit),
    /// A call was refused, and the thread continues.
    Refused(Failure, Refusal),
    Returns(Map<String, Value>),
    Step,
}

impl Occasion {
    pub(in crate::drive) fn of_refusal(refusal: &Refusal) -> Self {
        let failure = Failure::new(FailureKind::Refused, &refusal.message);
        Self::Refused(failure, refusal.clone())
    }

    pub(in crate::drive) fn of_limit(hit: &LimitHit) -> Self {
        let failure = Failure::new(FailureKind::Limit(hit.clone()), &hit.to_string());
        Self::Limited(failure, hit.clone())
    }

    pub(in crate::drive) const fn event(&self) -> HookEvent {
        match self {
            Self::Begins(event) => *event,
            Self::Completed(_) => HookEvent::AfterComplete,
            Self::ContextLimit(_) => HookEvent::ContextLimitReached,
            Self::Limited(..) | Self::Fails(Failure { kind: FailureKind::Limit(_), .. }) => {
                HookEvent::Limit
            }
            Self::Fails(_) | Self::Refused(..) => HookEvent::Error,
            Self::Returns(_) => HookEvent::DirectiveReturn,
            Self::Step => HookEvent::AfterStep,
        }
    }

    /// Returns the failure, and whether it ends the thread.
    pub(in crate::drive) const fn failure(&self) -> (Option<&Failure>, bool) {
        match self {
            Self::ContextLimit(Some(failure)) | Self::Fails(failure) => (Some(failure), true),
            Self::Limited(failure, _) | Self::Refused(failure, _) => (Some(failure), false),
            _ => (None, false),
        }
    }
}

/// Returns the data of an event, for the hooks that act at it.
pub(super) fn event_data(
    hooks: &Hooks,
    run: &Run,
    occasion: &Occasion,
    context: &HookContext<'_, '_>,
) -> Value {
    let mut data = hooks.about().clone();
    let record = context.recorder.journal.record();
    let palette = context.executor.authoriser.palette;
    let mut put = |name: &str, value: Value| drop(data.insert(name.to_owned(), value));
    put("event", occasion.event().as_str().into());
    put("thread", json!({"id": record.thread.as_str(), "directive": record.directive}));
    put("provider", context.info.provider.as_str().into());
    put("model", context.info.model.as_str().into());
    put("cost", cost(run));
    put("limits", limits(run));
    match occasion {
        Occasion::Begins(_) => {}
        Occasion::Completed(state) => {
            put("state", state.as_str().into());
            put("text", run.text().into());
            if let Some(failure) = run.failure() {
                put("error", error(failure, run.refusals().last(), true));
            }
        }
        Occasion::ContextLimit(_) => {
            let window = context.info.context_window;
            put("context", json!({"tokens": run.context_estimate(), "window": window}));
        }
        Occasion::Fails(Failure { kind: FailureKind::Limit(hit), message, .. }) => {
            put("limit", limit(hit, message, true));
        }
        Occasion::Limited(failure, hit) => put("limit", limit(hit, &failure.message, false)),
        Occasion::Fails(failure) => put("error", error(failure, run.refusals().last(), true)),
        Occasion::Refused(failure, refusal) => put("error", error(failure, Some(refusal), false)),
        Occasion::Returns(outputs) => put("outputs", Value::Object(outputs.clone())),
        Occasion::Step => {
            put("calls", calls(run, palette));
            put("text", run.text().into());
            let items = last_calls(run).filter_map(|(call, _)| executed_item(palette, call));
            put("called_items", items.collect());
        }
    }
    Value::Object(data)
}

/// The calls of the last turn with their items and results.
fn calls(run: &Run, palette: &Palette) -> Value {
    let row = |(call, result): (&ToolCall, &ToolResult)| {
        json!({
            "name": palette.function_name(&call.name),
            "item_id": executed_item(palette, call),
            "is_error": result.is_error,
        })
    };
    last_calls(run).map(row).collect()
}

/// The item that a call executes; `None` for a call of another operation, and for one that executes nothing known.
fn executed_item(palette: &Palette, call: &ToolCall) -> Option<String> {
    let Resolved { offered, arguments } = palette.resolve(call).ok()?;
    if !palette.is_execute(&call.name) {
        return offered.entry.needs.is_none().then(|| offered.entry.item_id.clone());
    }
    let argument = match () {
        () if palette.is_fork(offered) => "directive",
        () if offered.entry.needs.is_some() => "item_id",
        () => return Some(offered.entry.item_id.clone()),
    };
    arguments.get(argument).and_then(Value::as_str).map(str::to_owned)
}

/// The calls of the last turn, each with its result.
fn last_calls(run: &Run) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
    let mut latest = run.messages().iter().rev();
    let results = latest.find_map(|message| match message {
        Message::ToolResults { results } => Some(results.as_slice()),
        Message::Assistant { .. } => Some(&[][..]),
        _ => None,
    });
    let calls = latest.find_map(|message| match message {
        Message::Assistant { reply } => Some(reply.calls.as_slice()),
        _ => None,
    });
    calls.unwrap_or_default().iter().zip(results.unwrap_or_default())
}

fn limit(hit: &LimitHit, message: &str, is_final: bool) -> Value {
    json!({
        "name": hit.limit.as_str(),
        "value": hit.value,
        "maximum": hit.maximum,
        "message": message,
        "final": is_final,
    })
}

fn error(failure: &Failure, refusal: Option<&Refusal>, is_final: bool) -> Value {
    let refusal = refusal.filter(|_| failure.kind == FailureKind::Refused);
    let kind = match &failure.kind {
        FailureKind::Refused => "permission_denied",
        FailureKind::Provider(class) => class.as_str(),
        kind => kind.as_str(),
    };
    let mut error = json!({
        "type": kind,
        "kind": failure.kind.as_str(),
        "message": failure.message,
        "final": is_final,
        "retryable": is_final && failure.kind.may_be_retried(),
    });
    if let Some(refusal) = refusal {
        error["resource"] = refusal.capability.as_str().into();
        error["layer"] = refusal.layer.as_str().into();
        error["pattern"] = json!(refusal.pattern);
    }
    error
}

/// Returns the cost of the answers so far; `spend` is in dollars.
fn cost(run: &Run) -> Value {
    let usage = run.usage();
    json!({
        "turns": run.turns(),
        "retries": run.retries(),
        "tokens": usage.total(),
        "input_tokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
        "output_tokens": usage.output,
        "spend": dollars(run.cost().get()),
    })
}

fn limits(run: &Run) -> Value {
    let limits = run.limits();
    let spend = match limits.spend {
        SpendLimit::AtMost(cap) => dollars(cap.get()),
        SpendLimit::Unlimited => Value::from("unlimited"),
    };
    json!({
        "turns": limits.turns,
        "tokens": limits.tokens,
        "spend": spend,
        "duration_seconds": limits.duration_seconds,
    })
}

/// Exact up to some nine million dollars.
#[expect(
    clippy::cast_precision_loss,
    reason = "conditions compare amounts, and nothing is reckoned"
)]
fn dollars(nanos: u64) -> Value {
    (nanos as f64 / 1e9).into()
}

/// Returns `true` if the failure is an event at which hooks act.
pub(super) fn may_be_told(failure: &Failure) -> bool {
    // What cannot be written cannot be hooked, and a driver's mistake is no event of the thread.
    !matches!(
        failure.kind,
        FailureKind::Storage | FailureKind::OutOfTurn | FailureKind::Preparation
    )
}
