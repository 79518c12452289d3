//! A reader of answers that knows only the documented place of texts and arguments. It gives up on whatever is odd.

use std::collections::BTreeMap;

use rye_providers::Protocol;
use serde_json::Value;

/// The texts and the arguments of an answer, by the place of their block or item.
#[derive(Default)]
pub struct Found {
    /// The pieces of each text, in order.
    pub texts: BTreeMap<String, Vec<String>>,
    /// The pieces of the arguments of each call, put together.
    pub arguments: BTreeMap<String, String>,
    /// The number of the last block, and its type, by its index: an index may come again.
    blocks: BTreeMap<String, (usize, String)>,
    /// The place of each item, by its id.
    items: BTreeMap<String, u64>,
    /// The number of items that are done. An item that begins again is another one.
    done: usize,
    /// `true` if an event does not say clearly which item it is about.
    is_odd: bool,
}

impl Found {
    fn text(&mut self, place: String, text: &Value) {
        let text = text.as_str().filter(|text| !text.is_empty());
        let pieces = text.map(|_| self.texts.entry(place).or_default());
        pieces.into_iter().for_each(|pieces| pieces.extend(text.map(str::to_owned)));
    }

    /// The item that an event is about, which has one id and one place.
    fn item(&mut self, event: &Value) -> String {
        let (id, place) = (event["item_id"].as_str(), event["output_index"].as_u64());
        let (Some(id), Some(place)) = (id, place) else {
            self.is_odd = true;
            return String::new();
        };
        let is_new = !self.items.contains_key(id);
        let is_taken = is_new && self.items.values().any(|other| *other == place);
        let known = *self.items.entry(id.to_owned()).or_insert(place);
        self.is_odd |= is_taken || known != place;
        format!("{id} {}", self.done)
    }

    fn arguments(&mut self, place: String, text: &Value) {
        let text = text.as_str().unwrap_or_default();
        self.arguments.entry(place).or_default().push_str(text);
    }
}

/// What is found in an answer in one piece; `None` if it is no JSON of this reader.
pub fn whole(protocol: Protocol, body: &[u8]) -> Option<Found> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let mut found = Found::default();
    match protocol {
        Protocol::AnthropicMessages => each(&answer["content"], |at, block| {
            if block["type"] == "text" {
                found.text(at, &block["text"]);
            }
        }),
        Protocol::Gemini => gemini_parts(&mut found, &answer["candidates"][0], 0),
        Protocol::OpenAiChat => {
            let message = &answer["choices"][0]["message"];
            found.text(String::new(), &message["content"]);
            each(&message["tool_calls"], |at, call| {
                found.arguments(at, &call["function"]["arguments"]);
            });
        }
        _ => each(&answer["output"], |at, item| {
            if item["type"] == "function_call" {
                found.arguments(at, &item["arguments"]);
            } else if item["type"] == "message" {
                each(&item["content"], |part, content| {
                    if content["type"] == "output_text" {
                        found.text(format!("{at} {part}"), &content["text"]);
                    }
                });
            }
        }),
    }
    Some(found)
}

/// What is found in the events of a stream, up to its end; `None` if a line is none of `data: {…}`.
pub fn stream(protocol: Protocol, body: &[u8]) -> Option<Found> {
    let text = std::str::from_utf8(body).ok().filter(|text| !text.contains('\r'))?;
    let mut found = Found::default();
    let mut was_data = false;
    for line in text.lines() {
        let data = line.strip_prefix("data: ").unwrap_or_default();
        if (data.is_empty() && !line.is_empty()) || (was_data && !line.is_empty()) {
            return None;
        }
        was_data = !line.is_empty();
        if data == "[DONE]" {
            break;
        }
        if !was_data {
            continue;
        }
        let event: Value = serde_json::from_str(data).ok()?;
        if read(&mut found, protocol, &event) {
            break;
        }
    }
    Some(found).filter(|found| !found.is_odd)
}

/// Reads an event, and returns `true` if it is the last one.
fn read(found: &mut Found, protocol: Protocol, event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    match (protocol, kind) {
        (Protocol::AnthropicMessages, "content_block_start") => {
            let kind = event["content_block"]["type"].as_str().unwrap_or_default().to_owned();
            let number = found.blocks.len();
            let (last, old) = found.blocks.entry(event["index"].to_string()).or_default();
            (*last, *old) = (number + *last + 1, kind);
        }
        (Protocol::AnthropicMessages, "content_block_delta") => {
            let index = event["index"].to_string();
            let Some((number, block)) = found.blocks.get(&index) else { return false };
            let (at, delta) = (format!("{index} {number}"), &event["delta"]);
            match (block.as_str(), delta["type"].as_str()) {
                ("text", Some("text_delta")) => found.text(at, &delta["text"]),
                ("tool_use", Some("input_json_delta")) => {
                    found.arguments(at, &delta["partial_json"]);
                }
                _ => {}
            }
        }
        (Protocol::AnthropicMessages, _) => return kind == "message_stop",
        (Protocol::Gemini, _) => {
            let mine = |candidate: &&Value| candidate["index"].as_u64().unwrap_or(0) == 0;
            let candidates = event["candidates"].as_array();
            let candidates = candidates.into_iter().flatten().filter(mine);
            candidates.for_each(|candidate| gemini_parts(found, candidate, 0));
        }
        (Protocol::OpenAiChat, _) => {
            let mine = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
            for choice in event["choices"].as_array().into_iter().flatten().filter(mine) {
                found.text(String::new(), &choice["delta"]["content"]);
                // A message in the place of a delta may repeat calls, and calls without an index are put in order.
                each(&choice["delta"]["tool_calls"], |_, call| {
                    let at = format!("{} {}", call["index"], call["id"]);
                    found.arguments(at, &call["function"]["arguments"]);
                });
            }
        }
        (_, "response.output_text.delta") => {
            let at = format!("{} {}", found.item(event), event["content_index"]);
            found.text(at, &event["delta"]);
        }
        (_, "response.function_call_arguments.delta") => {
            let at = found.item(event);
            found.arguments(at, &event["delta"]);
        }
        (_, "response.output_item.done") => found.done += 1,
        _ => {
            let ends = ["completed", "done", "incomplete", "failed"];
            return kind.strip_prefix("response.").is_some_and(|kind| ends.contains(&kind));
        }
    }
    false
}

fn gemini_parts(found: &mut Found, candidate: &Value, place: usize) {
    each(&candidate["content"]["parts"], |_, part| {
        if part["thought"] != true {
            found.text(place.to_string(), &part["text"]);
        }
    });
}

fn each(list: &Value, mut read: impl FnMut(String, &Value)) {
    let values = list.as_array().into_iter().flatten().enumerate();
    values.for_each(|(at, value)| read(at.to_string(), value));
}
