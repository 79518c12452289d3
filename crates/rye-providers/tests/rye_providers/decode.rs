//! Responses as replies.

use std::error::Error;

use proptest::prelude::*;
use rye_providers::anthropic::decode;
use rye_thread::{StopReason, ToolCall, Usage};
use serde_json::json;

fn response(content: &str, stop_reason: &str) -> String {
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"{stop_reason}","stop_sequence":null,"usage":{{"input_tokens":7,"output_tokens":3}}}}"#
    )
}

#[test]
fn a_reply_is_read_and_kept_as_received() {
    let content = r#"[ {"type":"thinking","thinking":"First.","signature":"s"},{"type":"text","text":"A"},
 {"type":"server_tool_use","id":"srv","name":"web","input":{}},{"type":"text","text":"\u00e9","citations":[]},
 {"type":"thinking","thinking":"Second.","signature":"s"},{"type":"redacted_thinking","data":"x"},
 {"type":"tool_use","id":"toolu_1","name":"rye_execute","input":{"b":1,"a":[2]},"caller":{"type":"direct"}} ]"#;
    let reply = decode(response(content, "tool_use").as_bytes()).unwrap();
    assert_eq!(reply.raw().get(), content.replace('\n', " "));
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("Aé", "First.\nSecond."));
    assert_eq!(reply.calls, [ToolCall::new("toolu_1", "rye_execute", json!({ "b": 1, "a": [2] }))]);
    assert_eq!((reply.usage, reply.stop), (Usage::new(7, 3), StopReason::ToolUse));
}

#[test]
fn every_stop_reason_is_told_apart() {
    for (word, stop) in [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence),
        ("tool_use", StopReason::ToolUse),
        ("pause_turn", StopReason::Pause),
        ("refusal", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::ContextWindow),
        ("compaction", StopReason::Other("compaction".to_owned())),
        ("", StopReason::Other("unreadable".to_owned())),
        ("two words", StopReason::Other("unreadable".to_owned())),
        ("sk-ant-0123", StopReason::Other("unreadable".to_owned())),
        (&"a".repeat(65), StopReason::Other("unreadable".to_owned())),
    ] {
        assert_eq!(decode(response("[]", word).as_bytes()).unwrap().stop, stop);
    }
}

#[test]
fn usage_is_counted_without_overlap() {
    let body = r#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":200,
        "cache_read_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":200},"output_tokens":40000,
        "output_tokens_details":{"thinking_tokens":39000},"service_tier":"standard"}}"#;
    let usage = decode(body.as_bytes()).unwrap().usage;
    assert_eq!(
        (usage.input, usage.cache_write, usage.cache_read, usage.output),
        (10, 200, 3_000, 40_000)
    );
    let body = r#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_read_input_tokens":null,"output_tokens":2}}"#;
    assert_eq!(decode(body.as_bytes()).unwrap().usage, Usage::new(1, 2));
}

#[test]
fn arguments_that_are_no_object_are_the_models_to_correct() {
    let reply = decode(
        response(r#"[{"type":"tool_use","id":"t","name":"n","input":"x"}]"#, "tool_use").as_bytes(),
    )
    .unwrap();
    assert_eq!(
        reply.calls,
        [ToolCall::unreadable("t", "n", "the arguments are not a JSON object")]
    );
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let error = decode(body.as_bytes()).unwrap_err();
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    assert_eq!(format!("{error}{cause}"), expected);
}

#[test]
fn what_is_no_response_is_an_error() {
    let shape = "the response is not a message of the Messages format";
    check("", &format!("{shape}: EOF while parsing a value at line 1 column 0"));
    check("{}", &format!("{shape}: missing field `content` at line 1 column 2"));
    let body = r#"{"content":[],"stop_reason":"end_turn"}"#;
    check(body, &format!("{shape}: missing field `usage` at line 1 column 39"));
    let body = r#"{"content":[],"stop_reason":"end_turn","usage":{"output_tokens":1}}"#;
    check(body, &format!("{shape}: missing field `input_tokens` at line 1 column 66"));
    check(
        &response("{}", "end_turn"),
        &format!("{shape}: invalid type: map, expected a sequence at line 1 column 0"),
    );
}

#[test]
fn a_block_that_is_not_what_it_says_is_an_error() {
    let block = |reason: &str| format!("block 0 of the response is not valid: {reason}");
    check(&response("[1]", "end_turn"), &block("it has no `type`"));
    check(&response(r#"[{"type":"text"}]"#, "end_turn"), &block("a text block has no `text`"));
    check(
        &response(r#"[{"type":"tool_use","name":"n"}]"#, "tool_use"),
        &block("a tool call has no `id`"),
    );
    check(
        &response(r#"[{"type":"tool_use","id":"t"}]"#, "tool_use"),
        &block("a tool call has no `name`"),
    );
}

#[test]
fn two_calls_of_one_id_are_an_error() {
    let call = r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#;
    check(
        &response(&format!("[{call},{call}]"), "tool_use"),
        "block 1 of the response is not valid: a tool call has the `id` of an earlier one",
    );
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(decode(response(&deep, "end_turn").as_bytes()).is_err());
}

proptest! {
    /// Whatever bytes come, decoding ends without a panic, and what it keeps is what came.
    #[test]
    fn no_input_panics(noise in ".*", at in 0_usize..200, cut in 0_usize..200) {
        let whole = response(r#"[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n","input":{}}]"#, "end_turn");
        let head = whole.get(..at.min(whole.len())).unwrap_or_default();
        let tail = whole.get(cut.min(whole.len())..).unwrap_or_default();
        for body in [noise.clone(), format!("{head}{noise}{tail}"), response(&noise, "end_turn")] {
            if let Ok(reply) = decode(body.as_bytes()) {
                let line = body.replace(['\n', '\r'], " ");
                prop_assert!(line.contains(reply.raw().get()));
            }
        }
    }
}
