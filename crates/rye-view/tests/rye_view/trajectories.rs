//! Threads as trajectories of ATIF.

use rye_transcript::{DamageKind, EventKind};
use rye_types::Moment;
use rye_view::export::{self, UnreadError};
use rye_view::{Signer, Source};
use serde_json::{Value, json};

use crate::pages::everything;
use crate::recording::{CHILD, Recording};

pub(crate) fn trajectory(recording: &Recording) -> Value {
    serde_json::from_str(&exported(recording).unwrap()).unwrap()
}

fn exported(recording: &Recording) -> Result<String, UnreadError> {
    let (record, reading) = (recording.record(), recording.reading());
    let source = Source::new(&record, &reading, Signer::Trusted, Moment::from_unix_millis(0));
    export::atif(&source)
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

/// A record that cannot be read refuses the export, unless this version may go on without it.
#[test]
fn payloads_of_other_forms_are_exported_or_refused() {
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
                Ok(reading) => {
                    let unread = reading.unread().next().map(|(record, _)| record.seq);
                    let refused = exported(&recording).err().map(|error| error.record);
                    assert_eq!(refused, unread, "{event}");
                }
                Err(damage) => {
                    assert!(matches!(damage.kind, DamageKind::Payload { .. }), "{damage}")
                }
            }
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_refuses_the_trajectory_of_its_parent() {
    let mut child = Recording::begin_as(CHILD);
    child.add("dream", json!({}));
    let parent = Recording::begin();
    let (record, reading) = (parent.record(), parent.reading());
    let (child_record, child_reading) = (child.record(), child.reading());
    let at = Moment::from_unix_millis(0);
    let mut source = Source::new(&record, &reading, Signer::Trusted, at);
    source.children = vec![Source::new(&child_record, &child_reading, Signer::Trusted, at)];
    let refused = export::atif(&source).unwrap_err().to_string();
    let told = format!(
        "record 4 of the thread `{CHILD}` cannot be used: this version knows no event `dream`; use the version that recorded it"
    );
    assert_eq!(refused, told);
}
