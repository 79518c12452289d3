//! Threads as trajectories of ATIF.

use rye_transcript::{DamageKind, EventKind};
use rye_types::Moment;
use rye_view::{Signer, Source, export};
use serde_json::{Value, json};

use crate::pages::everything;
use crate::recording::Recording;

pub(crate) fn trajectory(recording: &Recording) -> Value {
    let (record, reading) = (recording.record(), recording.reading());
    let source = Source::new(&record, &reading, Signer::Trusted, Moment::from_unix_millis(0));
    serde_json::from_str(&export::atif(&source)).unwrap()
}

#[test]
fn a_thread_with_everything_is_a_list_of_steps() {
    let trajectory = trajectory(&everything());
    insta::assert_snapshot!("trajectory", serde_json::to_string_pretty(&trajectory).unwrap());
}

/// The rules of the format that a snapshot does not show to hold.
#[test]
fn steps_are_numbered_and_results_belong_to_calls_of_their_step() {
    let trajectory = trajectory(&everything());
    for (place, step) in trajectory["steps"].as_array().unwrap().iter().enumerate() {
        assert_eq!(step["step_id"], place + 1);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let calls = list(&step["tool_calls"]);
        for result in list(&step["observation"]["results"]) {
            let is_of_call =
                calls.iter().any(|call| call["tool_call_id"] == result["source_call_id"]);
            assert!(is_of_call, "{step:#}");
        }
        if step["source"] != "agent" {
            assert!(step["metrics"].is_null() && step["tool_calls"].is_null(), "{step:#}");
        }
    }
}

/// A call that was refused before it became an intent has a result alone. Its arguments are those that were asked about.
#[test]
fn a_refused_call_is_a_call_with_a_result() {
    let mut recording = Recording::begin();
    recording
        .turn(1)
        .add("approval_requested", json!({ "call_id": "a", "item_id": "x/y", "arguments": { "path": "p" }, "arguments_sha256": "", "reason": "configured" }))
        .add("approval_decided", json!({ "call_id": "a", "decision": "denied", "by": "command", "arguments_sha256": "" }))
        .add("tool_call_result", json!({ "call_id": "a", "name": "x_y", "content": { "b": 1 }, "is_error": true, "refusal": null }))
        .checkpoint();
    let trajectory = trajectory(&recording);
    let step = &trajectory["steps"][2];
    assert_eq!(
        step["tool_calls"],
        json!([{ "tool_call_id": "a", "function_name": "x_y", "arguments": { "path": "p" } }])
    );
    assert_eq!(step["observation"]["results"][0]["content"], "{\"b\":1}");
}

/// Nothing that was recorded makes the export fail.
#[test]
fn payloads_of_other_forms_are_exported() {
    for kind in EventKind::ALL {
        if *kind == EventKind::Checkpoint || kind.names_key() {
            continue;
        }
        let event = kind.name();
        for payload in [
            json!(null),
            json!([1]),
            json!("x"),
            json!({ "call_id": 1, "arguments": [1], "reply": 2, "text": {} }),
        ] {
            let mut recording = Recording::begin();
            recording.turn(1).add(event, payload.clone()).add(event, payload).checkpoint();
            match recording.try_reading() {
                Ok(_) => assert_eq!(trajectory(&recording)["schema_version"], "ATIF-v1.8"),
                Err(damage) => {
                    assert!(matches!(damage.kind, DamageKind::Payload { .. }), "{damage}")
                }
            }
        }
    }
}
