//! Responses assembled from the events of a stream.

use std::borrow::Cow;

use rye_thread::{Delta, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::{self, reply, shape};
use super::error::of_response;
use crate::halves;
use crate::openai_error::{self, refusal};
use crate::raw::{Few, RawObject, raw, small};
use crate::wire::{Assemble, DecodeError, Progress, StreamError, order, text};

mod item;
mod items;

use self::item::{Address, Slot};
use self::items::Items;

/// A response that is being assembled: first its items, then its end.
#[derive(Default)]
pub(super) struct Response {
    items: Items,
    end: Option<Box<RawValue>>,
    /// `true` after the closing event of Chat Completions, which some servers send here too.
    is_closed: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: String,
    output_index: Option<u64>,
    content_index: Option<u64>,
    summary_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    part: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

impl Assemble for Response {
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        if data.trim_ascii() == b"[DONE]" {
            self.is_closed = true;
            return Ok((Progress::More, 0));
        }
        let event: Event<'_> =
            serde_json::from_str(text(data)?).map_err(|error| unreadable(data, error))?;
        let mut kept = 0;
        match event.kind.as_str() {
            "response.output_item.added" => {
                if let Some(item) = event.item.map(RawObject::of) {
                    announce(&item, deltas);
                    kept = self.items.begin(event.address_of(&item), item)?;
                }
            }
            "response.output_item.done" => {
                let item = event.item.ok_or_else(|| order("an item ends without an item"))?;
                let object = RawObject::of(item);
                kept = self.items.end(event.address_of(&object), item, &object)?;
            }
            kind @ ("response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed") => {
                let end =
                    event.response.ok_or_else(|| order("the response ends without a response"))?;
                let status = kind.trim_start_matches("response.");
                let status = if status == "done" { "completed" } else { status };
                return Ok((Progress::Done, self.end(end, status)?));
            }
            "error" => return Err(event_error(data)),
            kind => kept = self.grow(kind, &event, deltas)?,
        }
        Ok((Progress::More, kept))
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the reply. A stream without its last event is complete if each of its items is.
    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let Self { items, end, is_closed } = *self;
        items.check_heard().map_err(|reason| DecodeError::Order { reason })?;
        let completed = || RawValue::from_string(r#"{"status":"completed"}"#.to_owned()).ok();
        let is_complete = is_closed && items.are_complete();
        let end = end.or_else(|| completed().filter(|_| is_complete));
        let end = end.ok_or(DecodeError::Unfinished)?;
        let response: decode::Response<'_> = serde_json::from_str(end.get()).map_err(shape)?;
        if items.is_empty() {
            return reply(&response, response.own_items()?);
        }
        reply(&response, &raw(&items.into_raw()))
    }
}

impl Response {
    /// Reads an event about a text or the arguments of an item. Other events are passed over, because new ones may
    /// be added. Returns the number of bytes that are kept.
    fn grow(
        &mut self,
        kind: &str,
        event: &Event<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<usize, StreamError> {
        let Some(kind) = kind.strip_prefix("response.") else { return Ok(0) };
        if let Some(what) = kind.strip_suffix(".delta") {
            let Some(delta) = event.delta else { return Ok(0) };
            if what == "function_call_arguments" {
                self.items.at(event.address())?.grow_arguments(delta).map_err(order)?;
            } else if let Some(slot) = event.slot(what) {
                let piece = self.items.at(event.address())?.grow(slot, delta).map_err(order)?;
                match slot.kind {
                    "output_text" | "refusal" => deltas.delta(Delta::Text(piece)),
                    _ => deltas.delta(Delta::Reasoning(piece)),
                }
            } else {
                return Ok(0);
            }
            return Ok(delta.get().len());
        }
        let Some(what) = kind.strip_suffix(".done") else { return Ok(0) };
        if what == "function_call_arguments" {
            let Some(arguments) = event.arguments else { return Ok(0) };
            let name = event.name.and_then(|name| halves::text(name.get()));
            let item = self.items.any_at(event.address())?;
            item.tell_arguments(arguments, name).map_err(order)?;
            return Ok(arguments.get().len());
        }
        let part = event.part.map(RawObject::of).unwrap_or_default();
        let Some((slot, whole)) = event.whole(what, &part) else { return Ok(0) };
        self.items.any_at(event.address())?.tell(slot, whole).map_err(order)?;
        Ok(whole.get().len())
    }

    /// Reads the end of the response, which repeats the items that were sent one by one. Returns the number of
    /// bytes that are kept. The name of the event says the status if the response does not.
    fn end(&mut self, end: &RawValue, status: &str) -> Result<usize, StreamError> {
        let mut end: RawObject = serde_json::from_str(end.get()).map_err(shape)?;
        if end.lacks("status") {
            end.set_text("status", status);
        }
        refuse_failed(&end)?;
        let mut kept = 0;
        if !self.items.is_empty() {
            let output = end.get("output").map_or("null", RawValue::get);
            let Few(output): Few<&RawValue> = serde_json::from_str(output).map_err(shape)?;
            kept += self.items.learn(&output)?;
            end.remove("output");
        }
        kept += end.size();
        self.end = Some(end.into_raw());
        Ok(kept)
    }
}

impl Event<'_> {
    fn address(&self) -> Address<'_> {
        let id = self.item_id.and_then(|id| halves::borrowed_text(id.get()));
        let id = id.filter(|id| !id.is_empty());
        Address { id, place: self.output_index }
    }

    fn address_of(&self, item: &RawObject) -> Address<'static> {
        let id = item.text("id").filter(|id| !id.is_empty()).map(Cow::Owned);
        Address { id, place: self.output_index }
    }

    /// The place of a text in its item, by the name of the event.
    fn slot(&self, what: &str) -> Option<Slot> {
        let content = self.content_index.unwrap_or_default();
        let summary = self.summary_index.unwrap_or_default();
        Some(match what {
            "output_text" => Slot { list: "content", kind: "output_text", index: content },
            "refusal" => Slot { list: "content", kind: "refusal", index: content },
            "reasoning_text" => Slot { list: "content", kind: "reasoning_text", index: content },
            "reasoning_summary_text" | "reasoning_summary_part" => {
                Slot { list: "summary", kind: "summary_text", index: summary }
            }
            _ => return None,
        })
    }

    /// The text that an event brings whole, and its place.
    fn whole<'e>(&'e self, what: &str, part: &'e RawObject) -> Option<(Slot, &'e RawValue)> {
        let what = match (what, part.text("type").as_deref()) {
            ("content_part", Some("output_text")) => "output_text",
            ("content_part", Some("refusal")) => "refusal",
            ("content_part", Some("reasoning_text")) => "reasoning_text",
            _ => what,
        };
        let slot = self.slot(what)?;
        let whole = match slot.kind {
            "refusal" => self.refusal.or(part.get("refusal")),
            _ => self.text.or(part.get("text")),
        };
        Some((slot, whole?))
    }
}

fn announce(item: &RawObject, deltas: &dyn DeltaSink) {
    if item.text("type").as_deref() == Some("function_call")
        && let Some(name) = item.text("name")
    {
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
