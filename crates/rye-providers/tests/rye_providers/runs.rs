//! Whole conversations over a socket: reasoning, a call, two calls at once, unreadable arguments, and a last
//! text.

use std::time::Duration;

use rye_providers::Protocol;
use rye_thread::{
    End, Opening, OutputContract, Returned, Run, Step, ToolCall, ToolResult, ToolSpec,
};
use rye_types::{LimitSet, Nanos};
use serde_json::json;

use crate::bodies::keep;
use crate::fixtures::fixture;
use crate::server::Answer;
use crate::vendor::Vendor;

const ANSWERS: &[&str] =
    &["reasoning_and_call", "two_calls", "made_ids", "unknown_parts", "unreadable", "text"];

/// The answers of this protocol, in turn.
fn answers(protocol: Protocol, is_streamed: bool) -> Vec<Answer> {
    let answer = |name: &&str| {
        let fixture = fixture(protocol, name)?;
        // A call with unreadable arguments may exist only as a stream.
        let body = fixture.whole().filter(|_| !is_streamed).map(|body| Answer::json(200, body));
        body.or_else(|| fixture.events().map(|events| Answer::events(&events)))
    };
    ANSWERS.iter().filter_map(answer).collect()
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({ "type": "object", "properties": { "item_id": { "type": "string" } } });
    vec![
        ToolSpec::new("rye_execute", "Runs a tool.", schema.clone()),
        ToolSpec::new("rye_file_system_read", "Reads.", schema),
    ]
}

fn result(call: &ToolCall) -> Returned {
    Returned::ran(match &call.arguments {
        Ok(arguments) => ToolResult::ok(call, json!({ "did": arguments })),
        Err(reason) => ToolResult::error(call, json!(reason)),
    })
}

/// Runs the conversation to its end and returns the sent bodies.
async fn run(protocol: Protocol, is_streamed: bool) -> Vec<String> {
    let vendor = Vendor::answering(answers(protocol, is_streamed));
    let mut config = vendor.config_in(protocol);
    config["stream"] = json!(is_streamed);
    let provider = vendor.provider(&config);
    let opening =
        Opening { system: Some("Be brief.".to_owned()), first_user_message: "Go.".to_owned() };
    let mut run = Run::new(opening, tools(), OutputContract::default(), LimitSet::default(), 100);
    let mut ids = Vec::new();
    loop {
        match run.step(Duration::ZERO) {
            Step::CallModel(request) => {
                let reply = provider.complete(&request).await.unwrap();
                ids.extend(
                    reply
                        .calls
                        .iter()
                        .map(|call| call.id.clone())
                        .filter(|id| id.starts_with("rye_")),
                );
                run.model_replied(reply, Nanos::ZERO).unwrap();
            }
            Step::CallTools { calls, .. } => {
                run.tools_returned(calls.iter().map(result).collect()).unwrap();
            }
            Step::Done(end) => {
                assert_eq!(end, End::Completed { outputs: None, text: "Hello.".to_owned() });
                break;
            }
            _ => panic!("an unknown step"),
        }
    }
    let expected: &[&str] = match protocol {
        Protocol::AnthropicMessages => &[],
        _ => &["rye_call_3_0", "rye_call_3_1"],
    };
    assert_eq!(ids, expected, "an id that we made is like no other of the conversation");
    vendor.received().iter().map(|request| request.text().to_owned()).collect()
}

async fn check(protocol: Protocol) -> String {
    let pieces = run(protocol, true).await;
    let at_once = run(protocol, false).await;
    let mut shown = String::new();
    for (turn, (streamed, whole)) in pieces.iter().zip(&at_once).enumerate() {
        let stream = [r#""stream":true,"#, r#""stream_options":{"include_usage":true},"#];
        let same = stream.iter().fold(streamed.clone(), |body, member| body.replace(member, ""));
        assert_eq!(&same, whole, "an answer in pieces leaves the same history");
        keep(protocol, &format!("run_turn_{}_streamed", turn + 1), streamed);
        keep(protocol, &format!("run_turn_{}", turn + 1), whole);
        shown = whole.clone();
    }
    let n_answers = answers(protocol, true).len();
    assert_eq!((pieces.len(), at_once.len()), (n_answers, n_answers));
    for (before, after) in pieces.iter().zip(pieces.iter().skip(1)) {
        let before = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(before), "the history only grows");
    }
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[tokio::test]
async fn anthropic_messages() {
    insta::assert_snapshot!(check(Protocol::AnthropicMessages).await);
}

#[tokio::test]
async fn gemini() {
    insta::assert_snapshot!(check(Protocol::Gemini).await);
}

#[tokio::test]
async fn openai_chat() {
    insta::assert_snapshot!(check(Protocol::OpenAiChat).await);
}

#[tokio::test]
async fn openai_responses() {
    insta::assert_snapshot!(check(Protocol::OpenAiResponses).await);
}
