use std::sync::Arc;

use rye::sign::SigningKey;
use rye::thread::store::{MemoryStore, Store as _};
use rye::thread::transcript::{Event, Transcript, read};
use rye::thread::{ProviderInfo, ThreadId};
use rye::types::{LimitSet, Moment};

use super::*;

/// Returns a record of this event, as the first of a transcript.
fn record(event: &str, payload: &Value) -> Record {
    let thread = ThreadId::new("a", "019a0000-0000-7000-8000-000000000001").unwrap();
    let store = Arc::new(MemoryStore::new());
    let at = Moment::from_unix_millis(0);
    let ownership = store.acquire(&thread, &thread).unwrap();
    let mut transcript = Transcript::create(Arc::clone(&store) as _, ownership, "a").unwrap();
    let key = SigningKey::generate().unwrap();
    let start = Event::ThreadStart {
        provider: ProviderInfo::new("p", "m", 1_000, 100),
        limits: LimitSet::default(),
        tools: Vec::new(),
        palette: std::collections::BTreeMap::new(),
        facts: serde_json::Map::new(),
        root: thread.clone(),
        parent: None,
        continues: None,
        created: at,
        signed_by: key.public().to_pem(),
    };
    transcript.append(&start, at).unwrap();
    transcript.checkpoint(&key, at).unwrap();
    let reading = read(&store.journal(&thread).unwrap(), &thread, &[key.public()]).unwrap();
    let mut record = reading.records.into_iter().next().unwrap();
    event.clone_into(&mut record.event);
    record.payload = serde_json::value::to_raw_value(payload).unwrap();
    record
}

/// The descriptions of events in `rye threads show` and `tail`.
fn rows() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("approval_decided", json!({"call_id": "1", "decision": "denied"}), "denied"),
        ("approval_requested", json!({"call_id": "1", "item_id": "a/b"}), "a/b"),
        (
            "approval_requested",
            json!({"call_id": "1", "item_id": "a/b", "arguments": {}, "arguments_sha256": "x", "reason": "interrupted"}),
            "a/b; it began before and may have happened, and an approval may do it a second time",
        ),
        ("assistant_reasoning", json!({"text": "x"}), ""),
        ("assistant_text", json!({"text": "x"}), ""),
        ("checkpoint", json!({"head": "x"}), ""),
        ("child_ended", json!({"thread": "b-1", "state": "completed"}), "b-1"),
        ("context_injected", json!({"item_id": "a/b", "position": "before"}), "a/b"),
        ("context_injected", json!({"item_id": null, "position": "before"}), ""),
        ("hook_triggered", json!({"hook": "warn"}), "warn"),
        ("model_fallback", json!({"provider": "p", "model": "m"}), ""),
        ("request_failed", json!({"class": "server", "cost_nanos": 7}), "server"),
        (
            "request_retried",
            json!({"class": "server", "attempt": 2, "attempts": 4}),
            "server (2 of 4)",
        ),
        ("spawn_child", json!({"thread": "b-1", "directive": "b"}), "b-1"),
        ("step_finish", json!({"turn": 1}), ""),
        ("step_start", json!({"turn": 1}), ""),
        ("system_prompt", json!({"text": "x"}), ""),
        ("thread_complete", json!({"turns": 1}), ""),
        ("thread_continued", json!({"next": "a-1"}), "a-1"),
        ("thread_error", json!({"state": "error"}), ""),
        ("thread_resumed", json!({"opening": 2}), "opening 2"),
        ("thread_start", json!({"model": "m"}), ""),
        ("tool_call_result", json!({"is_error": false, "refusal": null}), "ok"),
        ("tool_call_result", json!({"is_error": true, "refusal": null}), "error"),
        (
            "tool_call_result",
            json!({"is_error": true, "refusal": null, "content": {"error": "no\nfile"}}),
            "error: no\\nfile",
        ),
        (
            "tool_call_result",
            json!({"is_error": true, "refusal": null, "content": {"error": "it ended with code 1", "stderr": "Traceback:\n  x\nValueError: y\n"}}),
            "error: it ended with code 1: ValueError: y",
        ),
        ("tool_call_start", json!({"name": "a_b", "target": {"item_id": "a/b"}}), "a/b"),
        ("tool_call_start", json!({"name": "a_b", "target": null}), "a_b"),
        ("tool_call_start", json!({"name": "a_b", "arguments": {"item_id": "c/d"}}), "a_b"),
        ("tool_call_start", json!({"name": "rye_execute", "arguments": {"item_id": "c/d"}}), "c/d"),
        (
            "tool_call_start",
            json!({"name": "rye_execute", "arguments": {"item_id": 7}}),
            "rye_execute",
        ),
        ("user_message", json!({"text": "x"}), ""),
    ]
}

/// A failed result is listed with its words.
#[test]
fn an_error_is_named() {
    for (event, payload, about) in [
        (
            "tool_call_result",
            json!({"is_error": true, "refusal": null, "content": {"exit_code": 1, "stderr": "x"}}),
            "error: x",
        ),
        (
            "tool_call_result",
            json!({"is_error": true, "refusal": {"layer": "x", "message": "not allowed"}}),
            "refused: not allowed",
        ),
        ("tool_call_result", json!({"is_error": true, "refusal": {"layer": "x"}}), "refused"),
    ] {
        let expected = format!("   0  1970-01-01T00:00:00.000Z  {event:<18} {about}");
        assert_eq!(line(&record(event, &payload)), expected);
    }
}

#[test]
fn each_event_has_a_line() {
    for (event, payload, about) in rows() {
        let expected = format!("   0  1970-01-01T00:00:00.000Z  {event:<18} {about}");
        assert_eq!(line(&record(event, &payload)), expected.trim_end());
    }
    let mut names: Vec<&str> = rows().iter().map(|row| row.0).collect();
    names.dedup();
    assert_eq!(names, Event::NAMES, "an event without a row");
}
