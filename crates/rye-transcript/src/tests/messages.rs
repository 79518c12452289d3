//! The conversation as values: what is kept of a reply, a call and a result, and how large it is.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;
use crate::{Counted, Message, Reply, StopReason, ToolCall, ToolSpec, count_values, nests_deeper};

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn reply(json: &str) -> Reply {
    Reply::new(raw(json), StopReason::EndTurn)
}

/// Returns arrays within each other.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

/// A token has at least one byte, so the bytes of a message bound its tokens.
#[test]
fn a_message_is_as_large_as_its_bytes() {
    let result = |id: &str, name: &str, content: Value| {
        ToolResult::ok(&ToolCall::new(id, name, json!({})), content)
    };
    let results = |results: Vec<ToolResult>| Message::ToolResults { results };
    let rows = [
        (Message::User { text: "é!".to_owned() }, 3),
        (Message::Assistant { reply: Arc::new(reply(r#"[{"a": 1}]"#)) }, 10),
        (results(vec![]), 0),
        // Each result has 128 bytes around its id, its name and its content.
        (results(vec![result("1", "a_b", json!({"x": "é"}))]), 1 + 3 + 10 + 128),
        (results(vec![result("12", "n", json!(null)), result("3", "m", json!(7))]), 135 + 131),
    ];
    for (message, size) in rows {
        assert_eq!(message.size(), size, "{message:?}");
    }
}

#[test]
fn what_is_nested_too_deep_to_be_read_again_is_not_kept() {
    let call = ToolCall::new("1", "a_b", nested(64));
    assert_eq!((call.arguments.as_ref(), call.is_too_deep()), (Ok(&nested(64)), false));
    let deep = ToolCall::new("1", "a_b", nested(65));
    let problem = Err("the arguments are nested deeper than 64 levels".to_owned());
    assert_eq!((&deep.arguments, deep.is_too_deep()), (&problem, true));
    let unreadable = ToolCall::unreadable("1", "a_b", "no JSON");
    assert_eq!(unreadable.arguments, Err("no JSON".to_owned()));
    assert!(!unreadable.is_too_deep());

    let noise = Some("It took long.".to_owned());
    let message = "the tool ran, and its result is nested deeper than 64 levels, which is not kept";
    for (result, content, is_error) in [
        (ToolResult::ok(&call, nested(64)), nested(64), false),
        (ToolResult::ok(&call, nested(65)), json!({ "error": message }), true),
        (ToolResult::error(&call, json!("no")), json!("no"), true),
        (ToolResult::error(&call, nested(65)), json!({ "error": message }), true),
    ] {
        assert_eq!((result.call_id.as_str(), result.name.as_str()), ("1", "a_b"));
        assert_eq!((&result.content, result.is_error), (&content, is_error));
        let noisy = result.clone().with_standard_error(noise.clone());
        assert_eq!((result.standard_error, &noisy.standard_error), (None, &noise));
        // Its record holds all of it.
        assert_eq!(crate::payload::Receipt::new(noisy.clone()).into_result(), noisy);
    }
}

#[test]
fn levels_and_values_are_counted() {
    for (value, levels, values) in [
        (json!(null), 0, 1),
        (json!("[[["), 0, 1),
        (json!([]), 1, 1),
        (json!({}), 1, 1),
        (json!([1, 2, 3]), 1, 4),
        (json!({ "a": 1, "b": { "c": [2, "x"] } }), 3, 6),
        (json!([[], [[]], {}]), 3, 5),
    ] {
        assert_eq!(count_values(&value), values, "{value}");
        let deeper = (0..5).map(|at| nests_deeper(&value, at)).collect::<Vec<_>>();
        assert_eq!(deeper, (0..5).map(|at| at < levels).collect::<Vec<_>>(), "{value}");
    }
}

#[test]
fn a_reply_is_kept_as_it_was_received_on_one_line() {
    for (received, kept) in [
        (r#"[ {"exact":1.50} ]"#, r#"[ {"exact":1.50} ]"#),
        ("[\n1,\r\n2]", "[ 1,  2]"),
        ("[\r1]", "[ 1]"),
        (r#"["a\nb"]"#, r#"["a\nb"]"#),
    ] {
        assert_eq!(reply(received).raw().get(), kept);
        let json = serde_json::to_string_pretty(&reply("[0]")).unwrap().replace("[0]", received);
        let read: Reply = serde_json::from_str(&json).unwrap();
        assert_eq!(read.raw().get(), kept);
        let mut mended = reply("[0]");
        (mended.text, mended.counted) = ("Hi.".to_owned(), Counted::Unreported);
        let mended = mended.with_raw(raw(received));
        assert_eq!(mended.raw().get(), kept);
        assert_eq!((mended.text.as_str(), mended.counted), ("Hi.", Counted::Unreported));
    }
}

#[test]
fn a_reply_without_text_and_calls_is_blank() {
    let call = || vec![ToolCall::new("1", "a_b", json!({}))];
    for (text, calls, is_blank) in [
        ("", vec![], true),
        (" \n\t", vec![], true),
        ("Hi.", vec![], false),
        ("", call(), false),
        ("Hi.", call(), false),
    ] {
        let mut reply = reply("[]");
        (reply.text, reply.calls, reply.reasoning) = (text.to_owned(), calls, "So.".to_owned());
        assert_eq!(reply.is_blank(), is_blank, "{reply:?}");
    }
}

/// Members that say what is usual are left out of the record, and the others come back.
#[test]
fn a_reply_is_recorded_with_the_source_of_its_count() {
    let usage = r#""usage":{"input":0,"output":0,"cache_read":0,"cache_write":0}"#;
    for (counted, member) in
        [(Counted::ByProvider, ""), (Counted::Unreported, r#","counted":"unreported""#)]
    {
        let mut reply = reply("[]");
        reply.counted = counted;
        reply.calls = vec![ToolCall::new("1", "a", json!(1)), ToolCall::unreadable("2", "b", "no")];
        let json = serde_json::to_string(&reply).unwrap();
        let calls = r#"[{"id":"1","name":"a","arguments":{"read":1}},{"id":"2","name":"b","arguments":{"unreadable":"no"}}]"#;
        assert_eq!(
            json,
            format!(
                r#"{{"raw":[],"text":"","reasoning":"","calls":{calls},{usage}{member},"stop":"end_turn"}}"#
            )
        );
        let read: Reply = serde_json::from_str(&json).unwrap();
        assert_eq!((read.counted, read.calls), (counted, reply.calls));
    }
    let spec = ToolSpec::new("a_b", "A.", json!({}));
    assert_eq!(spec.with_output_schema(json!({"a": 1})).output_schema, Some(json!({"a": 1})));
}
