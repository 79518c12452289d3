//! Streams whose independent events come in another order.

use proptest::prelude::*;
use proptest::sample::Index;
use rye_providers::Protocol;
use serde_json::{Value, json};

use crate::fixtures::{stream, summary};

/// The pieces of a part of an answer: those of a text, or those of a call's arguments.
#[derive(Debug, Clone)]
enum Part {
    Text(Vec<String>),
    Call(Vec<String>),
}

fn part() -> impl Strategy<Value = Part> {
    let text = proptest::collection::vec("[a-z \u{e9}\u{1f600}]{1,4}", 1..4).prop_map(Part::Text);
    let call = proptest::collection::vec("[a-z]{1,4}", 1..4).prop_map(|words| {
        let arguments = json!({ "a": words }).to_string();
        Part::Call(arguments.chars().collect::<Vec<_>>().chunks(5).map(String::from_iter).collect())
    });
    prop_oneof![text, call]
}

/// The events of each part, in order: those of one part are independent of those of the others.
fn events(protocol: Protocol, parts: &[Part]) -> Vec<Vec<Value>> {
    let numbered = parts.iter().enumerate();
    match protocol {
        Protocol::AnthropicMessages => numbered.map(|(at, part)| block(at, part)).collect(),
        Protocol::OpenAiChat => numbered.map(|(at, part)| deltas(at, part)).collect(),
        _ => numbered.map(|(at, part)| item(at, part)).collect(),
    }
}

fn block(at: usize, part: &Part) -> Vec<Value> {
    let (block, pieces, kind, member) = match part {
        Part::Text(pieces) => (json!({ "type": "text", "text": "" }), pieces, "text_delta", "text"),
        Part::Call(pieces) => {
            let call =
                json!({ "type": "tool_use", "id": format!("c{at}"), "name": "n", "input": {} });
            (call, pieces, "input_json_delta", "partial_json")
        }
    };
    let piece = |piece: &String| json!({ "type": "content_block_delta", "index": at, "delta": { "type": kind, member: piece } });
    let begin = json!({ "type": "content_block_start", "index": at, "content_block": block });
    let end = json!({ "type": "content_block_stop", "index": at });
    std::iter::once(begin).chain(pieces.iter().map(piece)).chain([end]).collect()
}

fn deltas(at: usize, part: &Part) -> Vec<Value> {
    let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    match part {
        Part::Text(pieces) => {
            pieces.iter().map(|piece| chunk(json!({ "content": piece }))).collect()
        }
        Part::Call(pieces) => {
            let begin = json!({ "index": at, "id": format!("c{at}"), "type": "function", "function": { "name": "n", "arguments": "" } });
            let piece = |piece| json!({ "index": at, "function": { "arguments": piece } });
            let calls = std::iter::once(begin).chain(pieces.iter().map(piece));
            calls.map(|call| chunk(json!({ "tool_calls": [call] }))).collect()
        }
    }
}

fn item(at: usize, part: &Part) -> Vec<Value> {
    let id = format!("i{at}");
    let event = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "output_index": at, "item_id": id });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let item = |text: String| match part {
        Part::Text(_) => {
            let part = json!({ "type": "output_text", "text": text, "annotations": [] });
            json!({ "type": "message", "id": id, "role": "assistant", "content": [part] })
        }
        Part::Call(_) => {
            json!({ "type": "function_call", "id": id, "call_id": format!("c{at}"), "name": "n", "arguments": text })
        }
    };
    let (Part::Text(pieces) | Part::Call(pieces)) = part;
    let kind = match part {
        Part::Text(_) => "response.output_text.delta",
        Part::Call(_) => "response.function_call_arguments.delta",
    };
    let piece = |piece| event(kind, json!({ "content_index": 0, "delta": piece }));
    let begin = event("response.output_item.added", json!({ "item": item(String::new()) }));
    let end = event("response.output_item.done", json!({ "item": item(pieces.concat()) }));
    std::iter::once(begin).chain(pieces.iter().map(piece)).chain([end]).collect()
}

/// The stream of these events, with its end.
fn whole(protocol: Protocol, events: &[Value]) -> String {
    let count = json!({ "input_tokens": 7, "output_tokens": 3 });
    let mut all = events.to_vec();
    all.extend(match protocol {
        Protocol::AnthropicMessages => vec![
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": count }),
            json!({ "type": "message_stop" }),
        ],
        Protocol::OpenAiChat => {
            vec![json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })]
        }
        _ => vec![json!({ "type": "response.completed", "response": { "status": "completed", "output": [], "usage": count } })],
    });
    let end = if protocol == Protocol::OpenAiChat { "data: [DONE]\n\n" } else { "" };
    all.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + end
}

/// Takes the next event of a part that still has one, until none has.
fn interleaved(parts: &[Vec<Value>], turns: &[Index]) -> Vec<Value> {
    let mut rest: Vec<_> = parts.iter().map(|events| events.iter()).collect();
    let mut turns = turns.iter().cycle();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let at = turns.next().map_or(0, |turn| turn.index(rest.len()));
        match rest[at].next() {
            Some(event) => order.push(event.clone()),
            None => drop(rest.remove(at)),
        }
    }
    order
}

proptest! {
    /// Blocks, items and calls that arrive side by side are read as when each follows the other. Gemini's parts have
    /// no events of their own.
    #[test]
    fn the_order_of_independent_events_does_not_matter(
        mut parts in proptest::collection::vec(part(), 1..4),
        turns in proptest::collection::vec(any::<Index>(), 1..40),
        piece in 1_usize..90,
    ) {
        for protocol in [Protocol::AnthropicMessages, Protocol::OpenAiChat, Protocol::OpenAiResponses] {
            if protocol == Protocol::OpenAiChat {
                // All texts of a message are one, so only one may come beside the calls.
                let mut has_text = false;
                parts.retain(|part| !(matches!(part, Part::Text(_)) && std::mem::replace(&mut has_text, true)));
            }
            let events = events(protocol, &parts);
            let in_turn = stream(protocol, &whole(protocol, &events.concat()), 1 << 20, &());
            let side_by_side = whole(protocol, &interleaved(&events, &turns));
            let side_by_side = stream(protocol, &side_by_side, piece, &());
            let [in_turn, side_by_side] = [in_turn, side_by_side].map(Result::unwrap);
            prop_assert_eq!(in_turn.raw().get(), side_by_side.raw().get());
            prop_assert_eq!(summary(&in_turn), summary(&side_by_side));
            let calls = parts.iter().filter(|part| matches!(part, Part::Call(_))).count();
            prop_assert_eq!(side_by_side.calls.len(), calls);
        }
    }
}
