//! Content blocks that are being assembled.

use rye_thread::{Delta, DeltaSink};
use serde_json::value::RawValue;

use crate::answer::unreadable;
use crate::raw::{RawObject, raw};
use crate::wire::{StreamError, order};

/// A block: its first object and the pieces that were added.
pub(super) struct Block {
    object: RawObject,
    /// Members that grow as text, in the order of their first piece.
    texts: Vec<(&'static str, String)>,
    input: String,
    citations: Vec<Box<RawValue>>,
    is_closed: bool,
}

impl Block {
    pub(super) fn new(object: RawObject, deltas: &dyn DeltaSink) -> Self {
        if let (Some("tool_use"), Some(name)) =
            (object.text("type").as_deref(), object.text("name"))
        {
            deltas.delta(Delta::Call(&name));
        }
        let texts = Vec::new();
        let input = String::new();
        let citations = Vec::new();
        Self { object, texts, input, citations, is_closed: false }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Adds a piece.
    pub(super) fn grow(
        &mut self,
        delta: &RawObject,
        deltas: &dyn DeltaSink,
    ) -> Result<(), StreamError> {
        let kind = delta.text("type").unwrap_or_default();
        let text =
            |name: &str| delta.text(name).ok_or_else(|| order("a piece of a block has no text"));
        match kind.as_str() {
            "text_delta" => {
                let piece = text("text")?;
                self.append("text", &piece);
                deltas.delta(Delta::Text(&piece));
            }
            "thinking_delta" => {
                let piece = text("thinking")?;
                self.append("thinking", &piece);
                deltas.delta(Delta::Reasoning(&piece));
            }
            "input_json_delta" => self.input.push_str(&text("partial_json")?),
            "signature_delta" => self.object.set_text("signature", &text("signature")?),
            "citations_delta" => {
                self.citations.extend(delta.get("citation").map(ToOwned::to_owned))
            }
            // Refused, because a block without one of its pieces must not be sent back.
            _ => return Err(order("a block has a piece of an unknown kind")),
        }
        Ok(())
    }

    fn append(&mut self, name: &'static str, piece: &str) {
        match self.texts.iter_mut().find(|(member, _)| *member == name) {
            Some((_, text)) => text.push_str(piece),
            None => {
                let text = self.object.text(name).unwrap_or_default() + piece;
                self.texts.push((name, text));
            }
        }
    }

    /// Returns the whole block as a response in one piece has it. If its arguments are not JSON, also returns
    /// the id of the call and the reason.
    pub(super) fn into_raw(self) -> (Box<RawValue>, Option<(String, String)>) {
        let Self { mut object, texts, input, citations, .. } = self;
        for (name, text) in texts {
            object.set_text(name, &text);
        }
        if !citations.is_empty() {
            object.set("citations", raw(&citations));
        }
        let mut fault = None;
        if !input.is_empty() {
            match RawValue::from_string(input) {
                Ok(input) => object.set("input", input),
                Err(error) => {
                    fault = object.text("id").map(|id| (id, unreadable(&error)));
                }
            }
        }
        (object.into_raw(), fault)
    }
}
