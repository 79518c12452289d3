//! Every event, one row each: its record, the record as read, and its Markdown.

use super::*;
use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, ChildEnd, Decision, Effect, Failure, FailureKind,
    HookEffect, HookEvent, Limit, LimitHit, Nanos, ProviderErrorClass, Refusal, Reply, Retry,
    Spawn, StopReason, ThreadState, ToolCall, ToolSpec, Usage, Waiting,
};

struct Row {
    variant: &'static str,
    event: Event,
    payload: &'static str,
    /// Empty for an event that only programs read.
    markdown: &'static str,
}

/// Rows by the variant's name. An event without a row does not compile.
macro_rules! rows {
    ($($variant:ident: $event:expr, $payload:expr, $markdown:expr;)*) => {
        fn rows() -> Vec<Row> {
            vec![$(Row {
                variant: stringify!($variant),
                event: $event,
                payload: $payload,
                markdown: $markdown,
            }),*]
        }

        const fn variant(event: &Event) -> &'static str {
            match event {
                $(Event::$variant { .. } => stringify!($variant),)*
            }
        }
    };
}

rows! {
    ApprovalDecided: Event::ApprovalDecided {
            request: asked(),
            decision: Decision::Denied(Some("not on a `Friday`".parse().unwrap())),
            by: "command".to_owned(),
        },
        r#"{"call_id":"1","arguments_sha256":"5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22","decision":"denied","by":"command","reason":"not on a `Friday`"}"#,
        "Call of `a/b` denied by command\n\n```\nnot on a `Friday`\n```\n\n";
    ApprovalRequested: Event::ApprovalRequested(asked()),
        r#"{"call_id":"1","item_id":"a/b","arguments":{"x":1},"arguments_sha256":"5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22","reason":"configured"}"#,
        "## Waiting for approval: `a/b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
    AssistantReasoning: Event::AssistantReasoning { text: "Why.\nSo.".to_owned() },
        r#"{"text":"Why.\nSo."}"#,
        "## Reasoning\n\n> Why.\n> So.\n\n";
    AssistantText: Event::AssistantText { text: "Hi.".to_owned() },
        r#"{"text":"Hi."}"#,
        "## Assistant\n\nHi.\n\n";
    Checkpoint: Event::Checkpoint { checkpoint: json!({"head": "x"}) },
        r#"{"head":"x"}"#,
        "";
    ChildEnded: Event::ChildEnded(ChildEnd::new(
            "child-019a0000-0000-7000-8000-000000000002".parse().unwrap(),
            ThreadState::Completed,
            Nanos::new(42),
            crate::TranscriptClaim::new(7, "00ff".to_owned(), false),
        )),
        r#"{"thread":"child-019a0000-0000-7000-8000-000000000002","state":"completed","cost_nanos":42,"records":7,"head":"00ff"}"#,
        "Child `child-019a0000-0000-7000-8000-000000000002` ended: completed, 0.000000042 USD\n\n";
    ContextInjected: Event::ContextInjected(Injected::new(Some("a/b"), "before", "00ff")),
        r#"{"item_id":"a/b","position":"before","sha256":"00ff"}"#,
        "Context in `before`: `a/b`\n\n";
    HookCallResult: Event::HookCallResult {
            hook: "h".to_owned(),
            result: ToolResult::ok(&call(), json!("fine")),
            refusal: None,
        },
        r#"{"call_id":"1","name":"a_b","content":"fine","is_error":false,"refusal":null,"hook":"h"}"#,
        "## Result of hook `h`: `a_b`\n\n```json\nfine\n```\n\n";
    HookCallStart: Event::HookCallStart {
            hook: "h".to_owned(),
            call_id: "hook-1-1-1".to_owned(),
            injects: true,
            name: "rye_execute".to_owned(),
            arguments: json!({"x": 1}),
            target: Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once)),
        },
        r#"{"call_id":"hook-1-1-1","name":"rye_execute","arguments":{"x":1},"target":{"item_id":"a/b","capability":"rye.execute.tool.a.b","effect":"once"},"hook":"h","injects":true}"#,
        "## Call of hook `h`: `a/b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
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
        }),
        r#"{"evaluation":2,"hook_event":"limit","hook":"h","declared_by":"directive `a/b`","layer":1,"effect":"escalate","failure":{"kind":"limit","message":"too many","limit":{"name":"turns","value":2,"maximum":2}},"final":true,"data":{"x":1}}"#,
        "*Hook `h` at `limit`: escalate*\n\n";
    ModelFallback: Event::ModelFallback {
            provider: ProviderInfo::new("p", "n", 1_000, 100),
            reason: "busy".to_owned(),
        },
        r#"{"provider":"p","model":"n","nanos_per_million_tokens":null,"reason":"busy"}"#,
        "*`n` at `p` answers from here: busy*\n\n";
    RequestFailed: Event::RequestFailed {
            turn: 2,
            class: "server".to_owned(),
            message: "it broke".to_owned(),
            cost: Nanos::new(42),
        },
        r#"{"turn":2,"class":"server","message":"it broke","cost_nanos":42}"#,
        "*Turn 2 has no answer: it broke; 0.000000042 USD counts as spent*\n\n";
    RequestRetried: Event::RequestRetried {
            turn: 2,
            retry: retry(),
            cost: Nanos::ZERO,
            reserved: Nanos::new(42),
        },
        r#"{"turn":2,"attempt":2,"attempts":4,"class":"rate_limited","message":"it answered 429","hint_millis":6000,"wait_millis":6000,"cost_nanos":0,"reserved_nanos":42}"#,
        "*Turn 2: it answered 429: rate limited, next attempt in 6 s (2 of 4)*\n\n";
    SpawnChild: Event::SpawnChild(Spawn::new(
            "1",
            "child-019a0000-0000-7000-8000-000000000002".parse().unwrap(),
            "a/child",
            Waiting::ForNothing,
            Limits::default(),
        )),
        r#"{"call_id":"1","thread":"child-019a0000-0000-7000-8000-000000000002","directive":"a/child","async":true,"limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5}}"#,
        "Child: `child-019a0000-0000-7000-8000-000000000002`\n\n";
    StepFinish: Event::StepFinish { turn: 2, reply: Arc::new(reply()), cost: Nanos::new(42) },
        r#"{"turn":2,"reply":{"raw":[{"exact": 1.50}],"text":"Hi.","reasoning":"","calls":[],"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"stop":"end_turn"},"cost_nanos":42}"#,
        "*Turn 2: 7 tokens, 0.000000042 USD*\n\n";
    StepStart: Event::StepStart {
            turn: 2,
            reserved: Nanos::new(42),
            max_output_tokens: 100,
        },
        r#"{"turn":2,"reserved_nanos":42,"max_output_tokens":100}"#,
        "";
    SystemPrompt: Event::SystemPrompt { text: "Be brief.".to_owned() },
        r#"{"text":"Be brief.","sha256":"213c22ed7234eb11116e1e88f314c73cb3a019b5c87fe224b6ce5665bd9ec50e"}"#,
        "## System\n\n```\nBe brief.\n```\n\n";
    ThreadComplete: Event::ThreadComplete {
            outputs: json!({"score": 7}).as_object().cloned(),
            text: "Done.".to_owned(),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        },
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"outputs":{"score":7},"text":"Done."}"#,
        "## Completed\n\n```json\n{\n  \"score\": 7\n}\n```\n\n2 turns, 0.000000042 USD\n\n";
    ThreadContinued: Event::ThreadContinued {
            next: thread(),
            limits: Limits::default(),
            text: "So far.".to_owned(),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        },
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"next":"hello-019a0000-0000-7000-8000-000000000001","limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5},"text":"So far."}"#,
        "## Continued\n\nContinued in `hello-019a0000-0000-7000-8000-000000000001`.\n\n2 turns, 0.000000042 USD\n\n";
    ThreadError: Event::ThreadError {
            state: ThreadState::Error,
            failure: Some(out_of_turns()),
            turns: 2,
            usage: Usage::new(3, 4),
            cost: Nanos::new(42),
        },
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"state":"error","failure":{"kind":"limit","message":"too many","limit":{"name":"turns","value":2,"maximum":2}}}"#,
        "## Ended: error\n\ntoo many\n\n2 turns, 0.000000042 USD\n\n";
    ThreadResumed: Event::ThreadResumed {
            opening: 3,
            cut_bytes: 9,
            facts: serde_json::Map::new(),
            cost: Nanos::new(42),
            elapsed: std::time::Duration::from_millis(250),
            signed_by: "K".to_owned(),
            limits: Some(Limits::default()),
        },
        r#"{"opening":3,"cut_bytes":9,"facts":{},"cost_nanos":42,"elapsed_millis":250,"signed_by":"K","limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5}}"#,
        "*Resumed 2026-11-20T18:00:00.250Z, opening 3, with raised limits*\n\n";
    ThreadStart: Event::ThreadStart {
            provider: ProviderInfo::new("p", "m", 1_000, 100),
            limits: Limits::default(),
            tools: vec![ToolSpec::new("a_b", "A.", json!({}))],
            palette: [("a_b".to_owned(), "a/b".to_owned())].into(),
            facts: serde_json::Map::new(),
            root: thread(),
            parent: Some(thread()),
            continues: Some(thread()),
            created: super::AT,
            signed_by: "K".to_owned(),
        },
        r#"{"format":"rye-transcript","version":2,"provider":"p","model":"m","nanos_per_million_tokens":null,"limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5},"tools":[{"name":"a_b","description":"A.","input_schema":{},"output_schema":null}],"palette":{"a_b":"a/b"},"facts":{},"root":"hello-019a0000-0000-7000-8000-000000000001","created":"2026-11-20T18:00:00.250Z","signed_by":"K","parent":"hello-019a0000-0000-7000-8000-000000000001","continues":"hello-019a0000-0000-7000-8000-000000000001"}"#,
        "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n";
    ToolCallResult: Event::ToolCallResult {
            result: ToolResult::error(&call(), json!({"error": "no"})),
            refusal: Some(refusal()),
            limit: Some(LimitHit { limit: Limit::Spawns, value: 2, maximum: 2 }),
            added: vec![added()],
        },
        r#"{"call_id":"1","name":"a_b","content":{"error":"no"},"is_error":true,"refusal":{"capability":"rye.execute.tool.a.b","layer":"tool","pattern":null,"message":"no"},"limit":{"name":"spawns","value":2,"maximum":2},"added":[{"item":{"id":"a/b","kind":"directive"},"key_id":"k","grants":[["rye.load.*"]]}]}"#,
        "## Failed: `a_b`\n\n```json\n{\n  \"error\": \"no\"\n}\n```\n\n";
    ToolCallStart: Event::ToolCallStart {
            call_id: "1".to_owned(),
            name: "a_b".to_owned(),
            arguments: json!({"x": 1}),
            target: Some(Target::new("a/b", "rye.execute.tool.a.b", Effect::Once)),
        },
        r#"{"call_id":"1","name":"a_b","arguments":{"x":1},"target":{"item_id":"a/b","capability":"rye.execute.tool.a.b","effect":"once"}}"#,
        "## Call: `a_b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
    UserMessage: user("Go."),
        r#"{"text":"Go."}"#,
        "## User\n\n```\nGo.\n```\n\n";
}

fn retry() -> Retry {
    let six = std::time::Duration::from_secs(6);
    let mut retry = Retry::new(2, 4, ProviderErrorClass::RateLimited, "it answered 429");
    (retry.hint, retry.wait) = (Some(six), six);
    retry
}

fn asked() -> ApprovalRequest {
    ApprovalRequest::new(&thread(), "1", "a/b", &json!({"x": 1}), ApprovalReason::Configured)
}

fn call() -> ToolCall {
    ToolCall::new("1", "a_b", json!({"x": 1}))
}

fn added() -> AddedItem {
    let facts = json!({"id": "a/b", "kind": "directive"});
    let grant = std::iter::once("rye.load.*".parse().unwrap()).collect();
    AddedItem::new(facts.as_object().unwrap().clone()).signed_by("k", vec![grant])
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
    let raw = serde_json::value::RawValue::from_string(r#"[{"exact": 1.50}]"#.to_owned());
    let mut reply = Reply::new(raw.unwrap(), StopReason::EndTurn);
    (reply.text, reply.usage) = ("Hi.".to_owned(), Usage::new(3, 4));
    reply
}

/// Returns one event of each kind, in the order of [`recorded`].
pub(crate) fn every_event() -> Vec<Event> {
    let (last, events): (Vec<Row>, Vec<Row>) =
        rows().into_iter().partition(|row| row.event.name() == "checkpoint");
    events.into_iter().chain(last).map(|row| row.event).collect()
}

/// Returns one record of each kind, as a transcript holds them.
pub(crate) fn recorded() -> Vec<Record> {
    let store = Arc::new(MemoryStore::new());
    let mut transcript = create(&store, &thread());
    let key = SigningKey::generate().unwrap();
    let rows = rows();
    transcript.append(&start(&key), AT).unwrap();
    transcript.checkpoint(&key, AT).unwrap();
    for row in rows.iter().filter(|row| row.event.name() != "checkpoint") {
        transcript.append(&row.event, AT).unwrap();
    }
    // The rows name another key, and a checkpoint must have the key that was named last.
    transcript.append(&start(&key), AT).unwrap();
    transcript.checkpoint(&key, AT).unwrap();
    let bytes = store.journal(&thread()).unwrap();
    let mut records = read(&bytes, &thread(), &[key.public()]).unwrap().records.split_off(2);
    records.remove(records.len() - 2);
    records
}

#[test]
fn each_is_recorded_and_read_back() {
    let rows = rows();
    let records = recorded();
    assert_eq!(records.len(), rows.len());
    // The checkpoint comes last, all others in the order of the rows.
    let (last, rows): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.event.name() == "checkpoint");
    for (row, recorded) in rows.into_iter().chain(last).zip(&records) {
        let name = row.event.name();
        assert_eq!(recorded.event, name);
        assert_eq!(variant(&row.event), row.variant, "a row has its own event");
        assert_eq!(recorded_payload(&row.event).get(), row.payload, "{name}");
        if name != "checkpoint" {
            assert_eq!(recorded.payload.get(), row.payload, "{name}");
        }
        assert_eq!((recorded.at, recorded.directive.as_str()), (AT, "greet/hello"));
    }
}

#[test]
fn each_is_shown_to_a_person() {
    for row in rows() {
        assert_eq!(markdown(&row.event, AT), row.markdown, "{}", row.variant);
    }
}

/// Rendering the records gives the same text as rendering the events.
#[test]
fn each_is_shown_to_a_person_by_its_record() {
    let mut rows = rows();
    let mut records = recorded();
    // A request for approval precedes its decision.
    rows.sort_by_key(|row| row.event.name() == "approval_decided");
    records.sort_by_key(|record| record.event == "approval_decided");
    rows.retain(|row| row.event.name() != "checkpoint");
    records.retain(|record| record.event != "checkpoint");
    for (row, record) in
        rows.iter().zip(&records).filter(|(row, _)| row.event.name() != "approval_decided")
    {
        let again = markdown_of(std::slice::from_ref(record));
        assert_eq!(again.as_deref(), Some(row.markdown), "{}", row.variant);
    }
    let all: String = rows.iter().map(|row| row.markdown).collect();
    assert_eq!(markdown_of(&records), Some(all));
    records[0].event = "dream".to_owned();
    assert_eq!(markdown_of(&records), None, "a newer program's");
}

#[test]
fn the_names_are_those_of_the_events() {
    let mut names: Vec<&str> = rows().iter().map(|row| row.event.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, Event::NAMES);
}
