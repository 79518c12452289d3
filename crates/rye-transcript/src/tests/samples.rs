//! One event of each kind.

use std::time::Duration;

use rye_types::{
    Effect, HookEffect, HookEvent, Limit, LimitHit, LimitSet, Moment, Nanos, ThreadState, Usage,
};
use serde_json::json;
use serde_json::value::RawValue;

use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, Decision, Event, Failure, FailureKind,
    ProviderErrorClass, ProviderInfo, Refusal, Reply, Retry, Spawn, StopReason, ThreadId, ToolCall,
    ToolResult, ToolSpec, TranscriptClaim, Waiting,
};

use crate::payload::{
    Asked, ChildEnd, Decided, Injected, Intent, ModelFallback, Receipt, RequestFailed,
    RequestRetried, Said, SharedReply, SignedHead, StepFinish, StepStart, SystemPrompt, Target,
    ThreadComplete, ThreadContinued, ThreadError, ThreadResumed, ThreadStart, Triggered,
};

/// Returns one event of each kind with its label, sorted by label. Calls of hooks are labelled apart from those of models.
pub(crate) fn events() -> Vec<(&'static str, Event)> {
    let model = ProviderInfo::new("p", "m", 1_000, 100);
    let fallback = ProviderInfo::new("p", "n", 1_000, 100);
    let (turns, usage, cost) = (2, Usage::new(3, 4), Nanos::new(42));
    let limits = LimitSet::default();
    let failed = Receipt::new(
        ToolResult::error(&call(), json!({"error": "no"}))
            .with_standard_error(Some("It took long.".to_owned())),
    );
    let done = Receipt::new(ToolResult::ok(&call(), json!("fine")));
    let target = || Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once));
    let denied =
        Decision::Denied(Some("not on a `Friday`".parse().expect("because the sample is valid")));
    vec![
        (
            "ApprovalDecided",
            Event::ApprovalDecided(Decided::new(&approval_request(), denied, "command")),
        ),
        ("ApprovalRequested", Event::ApprovalRequested(Asked::of(&approval_request()))),
        ("AssistantReasoning", Event::AssistantReasoning(Said::new("Why.\nSo."))),
        ("AssistantText", Event::AssistantText(Said::new("Hi."))),
        ("Checkpoint", Event::Checkpoint(SignedHead(json!({"head": "x"})))),
        (
            "ChildEnded",
            Event::ChildEnded(ChildEnd::new(
                child(),
                ThreadState::Completed,
                cost,
                TranscriptClaim::new(7, "00ff".to_owned(), false),
            )),
        ),
        ("ContextInjected", Event::ContextInjected(Injected::new(Some("a/b"), "before", "00ff"))),
        ("HookCallResult", Event::ToolCallResult(Receipt { hook: Some("h".to_owned()), ..done })),
        (
            "HookCallStart",
            Event::ToolCallStart(Intent {
                call_id: "hook-1-1-1".to_owned(),
                name: "rye_execute".to_owned(),
                arguments: json!({"x": 1}),
                target: target(),
                hook: Some("h".to_owned()),
                injects: Some(true),
            }),
        ),
        (
            "HookTriggered",
            Event::HookTriggered(Triggered {
                evaluation: 2,
                event: HookEvent::Limit,
                hook: "h".to_owned(),
                declared_by: "directive `a/b`".to_owned(),
                layer: 1,
                effect: Some(HookEffect::Escalate),
                failure: Some(out_of_turns()),
                is_final: true,
                data: json!({"x": 1}),
            }),
        ),
        ("ModelFallback", Event::ModelFallback(ModelFallback::new(&fallback, "busy"))),
        (
            "RequestFailed",
            Event::RequestFailed(RequestFailed {
                turn: 2,
                class: "server".to_owned(),
                message: "it broke".to_owned(),
                cost,
            }),
        ),
        (
            "RequestRetried",
            Event::RequestRetried(RequestRetried::new(2, &retry(), Nanos::ZERO, cost)),
        ),
        (
            "SpawnChild",
            Event::SpawnChild(Spawn::new(
                "1",
                child(),
                "a/child",
                Waiting::ForNothing,
                limits.clone(),
            )),
        ),
        (
            "StepFinish",
            Event::StepFinish(StepFinish { turn: 2, reply: SharedReply::new(reply()), cost }),
        ),
        (
            "StepStart",
            Event::StepStart(StepStart { turn: 2, reserved: cost, max_output_tokens: 100 }),
        ),
        ("SystemPrompt", Event::SystemPrompt(SystemPrompt::new("Be brief."))),
        (
            "ThreadComplete",
            Event::ThreadComplete(ThreadComplete {
                turns,
                usage,
                cost,
                outputs: json!({"score": 7}).as_object().cloned(),
                text: "Done.".to_owned(),
            }),
        ),
        (
            "ThreadContinued",
            Event::ThreadContinued(ThreadContinued {
                turns,
                usage,
                cost,
                next: thread(),
                limits: limits.clone(),
                text: "So far.".to_owned(),
            }),
        ),
        (
            "ThreadError",
            Event::ThreadError(ThreadError {
                turns,
                usage,
                cost,
                state: ThreadState::Error,
                failure: Some(out_of_turns()),
            }),
        ),
        (
            "ThreadResumed",
            Event::ThreadResumed(ThreadResumed {
                opening: 3,
                cut_bytes: 9,
                facts: serde_json::Map::new(),
                cost,
                elapsed: Duration::from_millis(250),
                signed_by: "K".to_owned(),
                limits: Some(limits.clone()),
            }),
        ),
        (
            "ThreadStart",
            Event::ThreadStart(ThreadStart {
                tools: vec![ToolSpec::new("a_b", "A.", json!({}))],
                palette: [("a_b".to_owned(), "a/b".to_owned())].into(),
                parent: Some(thread()),
                continues: Some(thread()),
                ..ThreadStart::new(&model, limits, thread(), AT, "K".to_owned())
            }),
        ),
        (
            "ToolCallResult",
            Event::ToolCallResult(Receipt {
                refusal: Some(refusal()),
                limit: Some(LimitHit { limit: Limit::Spawns, value: 2, maximum: 2 }),
                added: vec![added_item()],
                ..failed
            }),
        ),
        (
            "ToolCallStart",
            Event::ToolCallStart(Intent {
                call_id: "1".to_owned(),
                name: "a_b".to_owned(),
                arguments: json!({"x": 1}),
                target: target(),
                hook: None,
                injects: None,
            }),
        ),
        ("UserMessage", Event::UserMessage(Said::new("Go."))),
    ]
}

/// Returns the event with a label.
pub(crate) fn sample(label: &str) -> Event {
    let named = events().into_iter().find(|(of, _)| *of == label);
    named.expect("because the label is one of the samples").1
}

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001")
        .expect("because the sample is valid")
}

fn child() -> ThreadId {
    "child-019a0000-0000-7000-8000-000000000002".parse().expect("because the sample is valid")
}

fn retry() -> Retry {
    let six = Duration::from_secs(6);
    let mut retry = Retry::new(2, 4, ProviderErrorClass::RateLimited, "it answered 429");
    (retry.hint, retry.wait) = (Some(six), six);
    retry
}

fn approval_request() -> ApprovalRequest {
    ApprovalRequest::new(&thread(), "1", "a/b", &json!({"x": 1}), ApprovalReason::Configured)
}

fn call() -> ToolCall {
    ToolCall::new("1", "a_b", json!({"x": 1}))
}

fn added_item() -> AddedItem {
    let facts = json!({"id": "a/b", "kind": "directive"});
    let grant =
        std::iter::once("rye.load.*".parse().expect("because the sample is valid")).collect();
    AddedItem::new(facts.as_object().expect("because the sample is valid").clone())
        .signed_by("k", vec![grant])
}

fn refusal() -> Refusal {
    Refusal::of_tool("rye.execute.tool.a.b", "no")
}

fn out_of_turns() -> Failure {
    let hit = LimitHit { limit: Limit::Turns, value: 2, maximum: 2 };
    Failure::new(FailureKind::Limit(hit), "too many")
}

/// The content is kept as it was received, including the number.
fn reply() -> Reply {
    let raw = RawValue::from_string(r#"[{"exact": 1.50}]"#.to_owned());
    let mut reply = Reply::new(raw.expect("because the sample is valid"), StopReason::EndTurn);
    (reply.text, reply.usage) = ("Hi.".to_owned(), Usage::new(3, 4));
    reply
}
