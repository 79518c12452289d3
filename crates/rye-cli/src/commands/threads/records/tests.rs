use rye::thread::transcript::EventKind;
use rye::thread::transcript::payload::{
    Asked, Decided, Injected, ModelFallback, Receipt, RequestFailed, Said, SharedReply, SignedHead,
    StepFinish, StepStart, SystemPrompt, Target, ThreadComplete, ThreadContinued, ThreadError,
    ThreadResumed, ThreadStart, Triggered,
};
use rye::thread::{
    ApprovalReason, ApprovalRequest, ChildEnd, Decision, ProviderErrorClass, ProviderInfo, Refusal,
    Reply, Retry, Spawn, StopReason, ThreadId, ToolCall, ToolResult, TranscriptClaim, Waiting,
};
use rye::types::{Effect, HookEvent, LimitSet, Moment, Nanos, ThreadState, Usage};
use serde_json::Map;

use super::*;

fn thread() -> ThreadId {
    ThreadId::new("a", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn asked(reason: ApprovalReason) -> ApprovalRequest {
    ApprovalRequest::new(&thread(), "1", "a/b", &json!({}), reason)
}

fn call(name: &str, arguments: Value, target: Option<Target>) -> Event {
    let (call_id, name) = ("1".to_owned(), name.to_owned());
    Event::ToolCallStart(Intent { call_id, name, arguments, target, hook: None, injects: None })
}

fn failed(content: Value) -> Event {
    let call = ToolCall::new("1", "a_b", json!({}));
    Event::ToolCallResult(Receipt::new(ToolResult::error(&call, content)))
}

fn refused(message: &str) -> Event {
    let Event::ToolCallResult(receipt) = failed(json!("x")) else { panic!("it is a receipt") };
    let refusal = Some(Refusal::of_tool("rye.execute.tool.a.b", message));
    Event::ToolCallResult(Receipt { refusal, ..receipt })
}

/// The descriptions of events in `rye threads show` and `tail`.
fn rows() -> Vec<(Event, &'static str)> {
    let info = ProviderInfo::new("p", "m", 1_000, 100);
    let (turn, turns, usage, cost) = (1, 1, Usage::new(1, 1), Nanos::new(7));
    let (limits, text) = (LimitSet::default(), String::new());
    let id = "a-019a0000-0000-7000-8000-000000000001";
    let retry = Retry::new(2, 4, ProviderErrorClass::Server, "x");
    let raw = serde_json::value::to_raw_value(&json!([])).unwrap();
    let reply = SharedReply::new(Reply::new(raw, StopReason::EndTurn));
    let claim = TranscriptClaim::new(1, "00".to_owned(), false);
    let resumed = ThreadResumed {
        opening: 2,
        cut_bytes: 0,
        facts: Map::new(),
        cost,
        elapsed: std::time::Duration::ZERO,
        signed_by: "K".to_owned(),
        limits: None,
    };
    let raised = ThreadResumed { limits: Some(limits.clone()), ..resumed.clone() };
    let target = Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once));
    let tool_call = ToolCall::new("1", "a_b", json!({}));
    vec![
        (
            Event::ApprovalDecided(Decided::new(
                &asked(ApprovalReason::Configured),
                Decision::DENIED,
                "command",
            )),
            "denied",
        ),
        (
            Event::ApprovalDecided(Decided::new(
                &asked(ApprovalReason::Configured),
                Decision::Denied(Some("not now".parse().unwrap())),
                "command",
            )),
            "denied: not now",
        ),
        (
            Event::ApprovalRequested(Asked::of(&asked(ApprovalReason::Configured))),
            "a/b; the configuration asks before each call of it",
        ),
        (
            Event::ApprovalRequested(Asked::of(&asked(ApprovalReason::Interrupted))),
            "a/b; it began before and may have happened, and an approval may do it a second time",
        ),
        (Event::AssistantReasoning(Said::new("x")), ""),
        (Event::AssistantText(Said::new("x")), ""),
        (Event::Checkpoint(SignedHead(json!({"head": "x"}))), ""),
        (Event::ChildEnded(ChildEnd::new(thread(), ThreadState::Completed, cost, claim)), id),
        (Event::ContextInjected(Injected::new(Some("a/b"), "before", "00")), "a/b"),
        (Event::ContextInjected(Injected::new(None, "before", "00")), ""),
        (
            Event::HookTriggered(Triggered {
                evaluation: 1,
                event: HookEvent::AfterStep,
                hook: "warn".to_owned(),
                declared_by: "x".to_owned(),
                layer: 1,
                effect: None,
                failure: None,
                is_final: false,
                data: json!({}),
            }),
            "warn",
        ),
        (Event::ModelFallback(ModelFallback::new(&info, "busy")), ""),
        (
            Event::RequestFailed(RequestFailed {
                turn,
                class: "server".to_owned(),
                message: "x".to_owned(),
                cost,
            }),
            "server",
        ),
        (Event::RequestRetried(RequestRetried::new(turn, &retry, cost, cost)), "server (2 of 4)"),
        (Event::SpawnChild(Spawn::new("1", thread(), "b", Waiting::ForTheEnd, limits.clone())), id),
        (Event::StepFinish(StepFinish { turn, reply, cost }), ""),
        (Event::StepStart(StepStart { turn, reserved: cost, max_output_tokens: 1 }), ""),
        (Event::SystemPrompt(SystemPrompt::new("x")), ""),
        (
            Event::ThreadComplete(ThreadComplete {
                turns,
                usage,
                cost,
                outputs: None,
                text: text.clone(),
            }),
            "",
        ),
        (
            Event::ThreadContinued(ThreadContinued {
                turns,
                usage,
                cost,
                next: thread(),
                limits: limits.clone(),
                text,
            }),
            id,
        ),
        (
            Event::ThreadError(ThreadError {
                turns,
                usage,
                cost,
                state: ThreadState::Error,
                failure: None,
            }),
            "",
        ),
        (Event::ThreadResumed(resumed), "opening 2"),
        (Event::ThreadResumed(raised), "opening 2, limits raised"),
        (
            Event::ThreadStart(ThreadStart::new(
                &info,
                limits,
                thread(),
                Moment::from_unix_millis(0),
                "K".to_owned(),
            )),
            "",
        ),
        (Event::ToolCallResult(Receipt::new(ToolResult::ok(&tool_call, json!(1)))), "ok"),
        (failed(Value::Null), "error"),
        (failed(json!({"error": "no\nfile"})), "error: no\\nfile"),
        (
            failed(
                json!({"error": "it ended with code 1", "stderr": "Traceback:\n  x\nValueError: y\n"}),
            ),
            "error: it ended with code 1: ValueError: y",
        ),
        (failed(json!({"exit_code": 1, "stderr": "x"})), "error: x"),
        (refused("not allowed"), "refused: not allowed"),
        (refused(""), "refused"),
        (call("a_b", json!({}), target), "a/b"),
        (call("a_b", json!({}), None), "a_b"),
        (call("a_b", json!({"item_id": "c/d"}), None), "a_b"),
        (call("rye_execute", json!({"item_id": "c/d"}), None), "c/d"),
        (call("rye_execute", json!({"item_id": 7}), None), "rye_execute"),
        (Event::UserMessage(Said::new("x")), ""),
    ]
}

#[test]
fn each_event_has_a_line() {
    let mut kinds: Vec<EventKind> = rows().iter().map(|(event, _)| event.kind()).collect();
    kinds.dedup();
    assert_eq!(kinds, EventKind::ALL, "an event without a row");
    for (event, expected) in rows() {
        let shown = format!("{event:?}");
        assert_eq!(about(event).unwrap_or_default(), expected, "{shown}");
    }
}
