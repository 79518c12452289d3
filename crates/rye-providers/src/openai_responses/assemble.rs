//! Responses assembled from the events of a stream.

use std::collections::BTreeMap;

use rye_thread::{Delta, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::{self, reply, shape};
use super::error::of_response;
use crate::openai_error::{self, refusal};
use crate::raw::{MOST_ENTRIES, RawObject, Small, raw, small, too_many_entries};
use crate::wire::{Assemble, DecodeError, Progress, StreamError, order, text};

/// A response that is being assembled: first its items, then its end.
#[derive(Default)]
pub(super) struct Response {
    /// The complete items by index. Earlier events about an item may be incomplete (WIRES 1.2).
    items: BTreeMap<u64, Box<RawValue>>,
    end: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: String,
    output_index: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    delta: Option<Small>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

impl Assemble for Response {
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        let event: Event<'_> =
            serde_json::from_str(text(data)?).map_err(|error| unreadable(data, error))?;
        let piece = event.delta.as_ref().and_then(|delta| delta.0.as_str()).unwrap_or_default();
        let mut kept = 0;
        match event.kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                deltas.delta(Delta::Text(piece));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                deltas.delta(Delta::Reasoning(piece));
            }
            "response.output_item.added" => announce(event.item, deltas),
            "response.output_item.done" => {
                let item = event.item.ok_or_else(|| order("an item ends without an item"))?;
                kept = item.get().len();
                if MOST_ENTRIES <= self.items.len() {
                    return Err(shape(too_many_entries()).into());
                }
                let place = event.output_index.unwrap_or(self.next());
                if self.items.insert(place, item.to_owned()).is_some() {
                    return Err(order("two items have one place"));
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let end =
                    event.response.ok_or_else(|| order("the response ends without a response"))?;
                let mut end: RawObject = serde_json::from_str(end.get()).map_err(shape)?;
                refuse_failed(&end)?;
                // The end repeats the items that were sent one by one.
                if !self.items.is_empty() {
                    end.remove("output");
                }
                kept = end.size();
                self.end = Some(end.into_raw());
                return Ok((Progress::Done, kept));
            }
            "error" => return Err(event_error(data)),
            _ => {}
        }
        Ok((Progress::More, kept))
    }

    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let end = self.end.ok_or(DecodeError::Unfinished)?;
        let response: decode::Response<'_> = serde_json::from_str(end.get()).map_err(shape)?;
        if self.items.is_empty() {
            return reply(&response, response.own_items()?);
        }
        let items: Vec<Box<RawValue>> = self.items.into_values().collect();
        reply(&response, &raw(&items))
    }
}

impl Response {
    /// Returns the index of an item without one. Compatible servers may omit it and send the items in order.
    fn next(&self) -> u64 {
        self.items.last_key_value().map_or(0, |(last, _)| last.saturating_add(1))
    }
}

fn announce(item: Option<&RawValue>, deltas: &dyn DeltaSink) {
    let item = item.and_then(|item| serde_json::from_str::<RawObject>(item.get()).ok());
    let Some(item) = item.filter(|item| item.text("type").as_deref() == Some("function_call"))
    else {
        return;
    };
    if let Some(name) = item.text("name") {
        deltas.delta(Delta::Call(&name));
    }
}

fn refuse_failed(end: &RawObject) -> Result<(), StreamError> {
    if end.text("status").as_deref() != Some("failed") {
        return Ok(());
    }
    let error = end.get("error").and_then(|error| small(error.get()).ok());
    Err(StreamError::Refused(of_response(error.as_ref())))
}

/// Returns the error of an event that cannot be read. It may have the form of Chat Completions, without the
/// type of an event.
fn unreadable(data: &[u8], error: serde_json::Error) -> StreamError {
    match openai_error::read_error(500, data) {
        Some(refusal) => StreamError::Refused(refusal),
        None => shape(error).into(),
    }
}

/// Returns the error of an `error` event, which is the event itself or its member `error`.
fn event_error(data: &[u8]) -> StreamError {
    let event = text(data).ok().and_then(|data| small(data).ok()).unwrap_or_default();
    let error = event.get("error").filter(|error| error.is_object()).unwrap_or(&event);
    let mut error = error.clone();
    if let Some(error) = error.as_object_mut() {
        // The type `error` is that of the event, not of the error.
        let _says_error = error
            .remove("type")
            .filter(|kind| kind != "error")
            .map(|kind| error.insert("type".to_owned(), kind));
    }
    match refusal(500, &error) {
        Some(refusal) => StreamError::Refused(refusal),
        None => order("an error says nothing"),
    }
}
