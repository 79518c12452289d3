//! One event of each kind.

use std::sync::Arc;
use std::time::Duration;

use rye_types::{
    Effect, HookEffect, HookEvent, Limit, LimitHit, LimitSet, Moment, Nanos, ThreadState, Usage,
};
use serde_json::json;
use serde_json::value::RawValue;

use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, ChildEnd, Decision, Event, Failure, FailureKind,
    Injected, ProviderErrorClass, ProviderInfo, Refusal, Reply, Retry, Spawn, StopReason, Target,
    ThreadId, ToolCall, ToolResult, ToolSpec, TranscriptClaim, Triggered, Waiting,
};

/// Events by the variant's name. A variant without an event does not compile.
macro_rules! events {
    ($($variant:ident: $event:expr;)*) => {
        /// Returns one event of each kind, sorted by variant.
        pub(crate) fn events() -> Vec<Event> {
            vec![$($event),*]
        }

        /// Returns the name of the variant of an event.
        pub(crate) const fn variant(event: &Event) -> &'static str {
            match event {
                $(Event::$variant { .. } => stringify!($variant),)*
            }
        }
    };
}

events! {
    ApprovalDecided: Event::ApprovalDecided {
            request: approval_request(),
            decision: Decision::Denied(Some("not on a `Friday`".parse().expect("because the sample is valid"))),
            by: "command".to_owned(),
        };
    ApprovalRequested: Event::ApprovalRequested(approval_request());
    AssistantReasoning: Event::AssistantReasoning { text: "Why.\nSo.".to_owned() };
    AssistantText: Event::AssistantText { text: "Hi.".to_owned() };
    Checkpoint: Event::Checkpoint { checkpoint: json!({"head": "x"}) };
    ChildEnded: Event::ChildEnded(ChildEnd::new(
            "child-019a0000-0000-7000-8000-000000000002".parse().expect("because the sample is valid"),
            ThreadState::Completed,
            Nanos::new(42),
            TranscriptClaim::new(7, "00ff".to_owned(), false),
        ));
    ContextInjected: Event::ContextInjected(Injected::new(Some("a/b"), "before", "00ff"));
    HookCallResult: Event::HookCallResult {
            hook: "h".to_owned(),
            result: ToolResult::ok(&call(), json!("fine")),
            refusal: None,
        };
    HookCallStart: Event::HookCallStart {
            hook: "h".to_owned(),
            call_id: "hook-1-1-1".to_owned(),
            injects: true,
            name: "rye_execute".to_owned(),
            arguments: json!({"x": 1}),
            target: Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once)),
        };
    HookTriggered: Event::HookTriggered(Triggered {
            evaluation: 2,
            event: HookEvent::Limit,
            hook: "h".to_owned(),
            declared_by: "directive `a/b`".to_owned(),
            layer: 1,
            effect: Some(HookEffect::Escalate),
            failure: Some(out_of_turns()),
            is_final: true,
            data: json!({"x": 1}),
        });
    ModelFallback: Event::ModelFallback {
            provider: ProviderInfo::new("p", "n", 1_000, 100),
            reason: "busy".to_owned(),
        };
    RequestFailed: Event::RequestFailed {
            turn: 2,
            class: "server".to_owned(),
            message: "it broke".to_owned(),
            cost: Nanos::new(42),
        };
    RequestRetried: Event::RequestRetried {
            turn: 2,
            retry: retry(),
            cost: Nanos::ZERO,
            reserved: Nanos::new(42),
        };
    SpawnChild: Event::SpawnChild(Spawn::new(
            "1",
            "child-019a0000-0000-7000-8000-000000000002".parse().expect("because the sample is valid"),
            "a/child",
            Waiting::ForNothing,
            LimitSet::default(),
        ));
    StepFinish: Event::StepFinish { turn: 2, reply: Arc::new(reply()), cost: Nanos::new(42) };
    StepStart: Event::StepStart {
            turn: 2,
            reserved: Nanos::new(42),
            max_output_tokens: 100,
        };
    SystemPrompt: Event::SystemPrompt { text: "Be brief.".to_owned() };
    ThreadComplete: Event::ThreadComplete {
            outputs: json!({"score": 7}).as_object().cloned(),
            text: "Done.".to_owned(),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        };
    ThreadContinued: Event::ThreadContinued {
            next: thread(),
            limits: LimitSet::default(),
            text: "So far.".to_owned(),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        };
    ThreadError: Event::ThreadError {
            state: ThreadState::Error,
            failure: Some(out_of_turns()),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        };
    ThreadResumed: Event::ThreadResumed {
            opening: 3,
            cut_bytes: 9,
            facts: serde_json::Map::new(),
            cost: Nanos::new(42),
            elapsed: Duration::from_millis(250),
            signed_by: "K".to_owned(),
            limits: Some(LimitSet::default()),
        };
    ThreadStart: Event::ThreadStart {
            provider: ProviderInfo::new("p", "m", 1_000, 100),
            limits: LimitSet::default(),
            tools: vec![ToolSpec::new("a_b", "A.", json!({}))],
            palette: [("a_b".to_owned(), "a/b".to_owned())].into(),
            facts: serde_json::Map::new(),
            root: thread(),
            parent: Some(thread()),
            continues: Some(thread()),
            created: AT,
            signed_by: "K".to_owned(),
        };
    ToolCallResult: Event::ToolCallResult {
            result: ToolResult::error(&call(), json!({"error": "no"}))
                .with_standard_error(Some("It took long.".to_owned())),
            refusal: Some(refusal()),
            limit: Some(LimitHit { limit: Limit::Spawns, value: 2, maximum: 2 }),
            added: vec![added_item()],
        };
    ToolCallStart: Event::ToolCallStart {
            call_id: "1".to_owned(),
            name: "a_b".to_owned(),
            arguments: json!({"x": 1}),
            target: Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once)),
        };
    UserMessage: Event::UserMessage { text: "Go.".to_owned() };
}

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001")
        .expect("because the sample is valid")
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
