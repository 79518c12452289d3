//! The memory of answers, counted in bytes, for all protocols.

use std::sync::Arc;

use rye_thread::Counted;
use serde_json::Value;

use super::*;
use crate::http::memory::AnswerMemory;

const MIB: usize = 1024 * 1024;
const PIECE: usize = 256 * 1024;

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The events of an answer: its start, its pieces of text, and its end with a count of `output` tokens.
fn stream(protocol: Protocol, pieces: usize, output: u64) -> Vec<String> {
    let text = "x".repeat(PIECE);
    let repeated = |piece: String| std::iter::repeat_n(piece, pieces);
    match protocol {
        Protocol::AnthropicMessages => {
            let usage = json!({ "input_tokens": 5 });
            let begin = [
                json!({ "type": "message_start", "message": { "usage": usage } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            ];
            let delta = json!({ "type": "text_delta", "text": text });
            let piece = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
            let end = [
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": output } }),
                json!({ "type": "message_stop" }),
            ];
            let begin = begin.iter().map(event);
            begin.chain(repeated(event(&piece))).chain(end.iter().map(event)).collect()
        }
        Protocol::Gemini => {
            let content = json!({ "role": "model", "parts": [{ "text": text }] });
            let piece = json!({ "candidates": [{ "content": content }] });
            let count = json!({ "promptTokenCount": 5, "candidatesTokenCount": output });
            let end = json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": count });
            repeated(event(&piece)).chain([event(&end)]).collect()
        }
        Protocol::OpenAiChat => {
            let piece = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
            let count = json!({ "prompt_tokens": 5, "completion_tokens": output });
            let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": count });
            repeated(event(&piece)).chain([event(&end), "data: [DONE]\n\n".to_owned()]).collect()
        }
        Protocol::OpenAiResponses => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            let message = json!({ "type": "message", "role": "assistant", "status": "completed", "content": content });
            let item = |place: usize| {
                event(
                    &json!({ "type": "response.output_item.done", "output_index": place, "item": message }),
                )
            };
            let count = json!({ "input_tokens": 5, "output_tokens": output });
            // The end repeats all items.
            let items = vec![message.clone(); pieces];
            let response = json!({ "status": "completed", "output": items, "usage": count });
            let end = event(&json!({ "type": "response.completed", "response": response }));
            (0..pieces).map(item).chain([end]).collect()
        }
    }
}

/// The same answer in one piece.
fn whole_body(protocol: Protocol, pieces: usize, output: u64) -> String {
    let text = "x".repeat(PIECE * pieces);
    match protocol {
        Protocol::AnthropicMessages => {
            json!({ "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
                    "usage": { "input_tokens": 5, "output_tokens": output } })
        }
        Protocol::Gemini => {
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
                    "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": output } })
        }
        Protocol::OpenAiChat => {
            json!({ "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
                    "usage": { "prompt_tokens": 5, "completion_tokens": output } })
        }
        Protocol::OpenAiResponses => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            json!({ "status": "completed",
                    "output": [{ "type": "message", "role": "assistant", "status": "completed", "content": content }],
                    "usage": { "input_tokens": 5, "output_tokens": output } })
        }
    }
    .to_string()
}

fn reporter() -> Reporter {
    let config = ProviderConfig::from_value(&json!({
        "name": "vendor", "protocol": "openai_chat", "base_url": "http://localhost:1",
        "models": { "m": { "context_window": 10, "max_output": 10 } },
    }));
    Reporter::new(&config.unwrap(), None)
}

fn patience() -> Patience {
    let limit = Limit { setting: "timeout_seconds", value: Duration::from_secs(600) };
    Patience::from_now(limit.value, Duration::from_secs(60), limit)
}

/// Reads an answer of `pieces` pieces within the shared memory.
async fn read_in(
    memory: &AnswerMemory,
    protocol: Protocol,
    is_streamed: bool,
    maximum: usize,
    (pieces, output): (usize, u64),
) -> Result<Reply, ProviderError> {
    let (sender, receiver) = unbounded_channel();
    let parts = if is_streamed {
        stream(protocol, pieces, output)
    } else {
        let body = whole_body(protocol, pieces, output);
        body.as_bytes()
            .chunks(PIECE)
            .map(|chunk| String::from_utf8(chunk.to_vec()).unwrap())
            .collect()
    };
    parts.into_iter().for_each(|part| sender.send(Bytes::from(part)).unwrap());
    drop(sender);
    let response = http::Response::new(reqwest::Body::wrap(Pieces(receiver)));
    let response = Body::of(reqwest::Response::from(response));
    let reporter = reporter();
    let patience = patience();
    let failed = |failure: Failure| failure.into_error(None);
    let mut room = patience.admit(&reporter, memory, maximum).await.map_err(failed)?;
    if is_streamed {
        let read = read_stream(response, protocol, patience, &reporter, &mut room, &()).await;
        return read.map_err(failed);
    }
    let body = read_whole(response, patience, &reporter, &mut room).await.map_err(failed)?;
    let reply = (protocol.wire().decode)(&body).unwrap();
    accept(reply, &reporter).map_err(failed)
}

const KINDS: [bool; 2] = [true, false];

/// An answer that fits is read, streamed and whole. Of a longer one no more is held than the limit.
#[tokio::test(start_paused = true)]
async fn an_answer_is_bounded_on_every_wire() {
    let maximum = 2 * MIB;
    for &protocol in Protocol::ALL {
        for is_streamed in KINDS {
            let row = format!("{protocol:?}, streamed: {is_streamed}");
            let memory = AnswerMemory::new(8, 64 * MIB);
            let read = read_in(&memory, protocol, is_streamed, maximum, (5, 2)).await;
            assert_eq!(read.unwrap().text.len() / PIECE, 5, "{row}");
            let memory = AnswerMemory::new(8, 64 * MIB);
            let error = read_in(&memory, protocol, is_streamed, maximum, (16, 2)).await;
            assert_eq!(error.unwrap_err().class, ProviderErrorClass::Server, "{row}");
            assert!(memory.peak() <= maximum, "{row}: {}", memory.peak());
        }
    }
}

/// Six large answers at once in the memory of one: all of them are read, and the limit is never exceeded.
async fn check_bounded_together(is_streamed: bool) {
    let maximum = 2 * MIB;
    let at_a_time = 3;
    let large = maximum - MIB;
    for &protocol in Protocol::ALL {
        let memory = Arc::new(AnswerMemory::new(at_a_time, large));
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let memory = Arc::clone(&memory);
                tokio::spawn(async move {
                    read_in(&memory, protocol, is_streamed, maximum, (5, 2)).await
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap().text.len() / PIECE, 5, "{protocol:?}");
        }
        let bound = at_a_time * MIB + large;
        assert!(memory.peak() <= bound, "{protocol:?}: {} of {bound}", memory.peak());
    }
}

#[tokio::test(start_paused = true)]
async fn all_streams_of_the_process_are_bounded_and_none_waits_for_ever() {
    check_bounded_together(true).await;
}

#[tokio::test(start_paused = true)]
async fn all_whole_answers_of_the_process_are_bounded_and_none_waits_for_ever() {
    check_bounded_together(false).await;
}

/// A request that gets no room fails when its time is over, and costs nothing.
#[tokio::test(start_paused = true)]
async fn a_request_without_room_is_not_sent() {
    let memory = AnswerMemory::new(1, MIB);
    let _held = memory.admit(MIB).await;
    let error = read_in(&memory, Protocol::OpenAiChat, true, MIB, (1, 2)).await.unwrap_err();
    let message = "the memory for answers was full with those to other requests, so that there was no room for one of `vendor` \
                   within 600s; run fewer threads at a time, or raise `timeout_seconds`";
    assert_eq!((error.class, error.to_string().as_str()), (ProviderErrorClass::Timeout, message));
    assert!(!error.may_have_cost());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_no_tokens_was_not_counted() {
    let memory = AnswerMemory::new(8, 64 * MIB);
    for &protocol in Protocol::ALL {
        for is_streamed in KINDS {
            for (pieces, output, expected) in
                [(1, 0, Counted::Unreported), (1, 1, Counted::ByProvider)]
            {
                let read = read_in(&memory, protocol, is_streamed, 4 * MIB, (pieces, output)).await;
                assert_eq!(read.unwrap().counted, expected, "{protocol:?} {is_streamed} {output}");
            }
        }
    }
}
