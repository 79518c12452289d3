//! Content blocks that are being assembled.

use rye_thread::{Delta, DeltaSink};
use serde_json::value::RawValue;

use crate::answer::{recover, unreadable};
use crate::halves::Pieces;
use crate::raw::{RawObject, is_signed, raw};
use crate::wire::{StreamError, order};

/// A block: its first object and the pieces that were added.
pub(super) struct Block {
    object: RawObject,
    /// Members that grow as text, in the order of their first piece.
    texts: Vec<(&'static str, Pieces)>,
    input: Pieces,
    citations: Vec<Box<RawValue>>,
}

impl Block {
    pub(super) fn new(object: RawObject, deltas: &dyn DeltaSink) -> Self {
        if let (Some("tool_use"), Some(name)) =
            (object.text("type").as_deref(), object.text("name"))
        {
            deltas.delta(Delta::Call(&name));
        }
        let texts = Vec::new();
        let input = Pieces::default();
        let citations = Vec::new();
        Self { object, texts, input, citations }
    }

    /// Adds a piece.
    pub(super) fn grow(
        &mut self,
        delta: &RawObject,
        deltas: &dyn DeltaSink,
    ) -> Result<(), StreamError> {
        let kind = delta.text("type").unwrap_or_default();
        let no_text = || order("a piece of a block has no text");
        let piece = |name: &str| delta.get(name).ok_or_else(no_text);
        match kind.as_str() {
            "text_delta" => {
                let text = self.member("text").push(piece("text")?).ok_or_else(no_text)?;
                deltas.delta(Delta::Text(text));
            }
            "thinking_delta" => {
                let text = self.member("thinking").push(piece("thinking")?).ok_or_else(no_text)?;
                deltas.delta(Delta::Reasoning(text));
            }
            "input_json_delta" => {
                self.input.push(piece("partial_json")?).ok_or_else(no_text)?;
            }
            "signature_delta" => {
                let signature = delta.text("signature").ok_or_else(no_text)?;
                self.object.set_text("signature", &signature);
            }
            "citations_delta" => {
                self.citations.extend(delta.get("citation").map(ToOwned::to_owned))
            }
            // Refused, because a block without one of its pieces must not be sent back.
            _ => return Err(order("a block has a piece of an unknown kind")),
        }
        Ok(())
    }

    /// The text of a member so far.
    fn member(&mut self, name: &'static str) -> &mut Pieces {
        let at = self.texts.iter().position(|(member, _)| *member == name).unwrap_or_else(|| {
            let mut text = Pieces::default();
            self.object.get(name).and_then(|begin| text.push(begin).map(drop));
            self.texts.push((name, text));
            self.texts.len() - 1
        });
        &mut self.texts.get_mut(at).expect("because the place was just found or made").1
    }

    /// Returns the whole block as a response in one piece has it. If it is a call whose arguments cannot be read,
    /// also returns the reason.
    ///
    /// Returns nothing if it is signed and has half of a character.
    pub(super) fn into_raw(self) -> Option<(Box<RawValue>, Option<String>)> {
        let Self { mut object, texts, input, citations, .. } = self;
        let mut is_mended = false;
        for (name, text) in texts {
            let (text, is_mended_there) = text.finish();
            is_mended |= is_mended_there;
            object.set_text(name, &text);
        }
        if is_mended && is_signed(&object) {
            return None;
        }
        if !citations.is_empty() {
            object.set("citations", raw(&citations));
        }
        let fault = add_input(&mut object, &input.finish().0);
        Some((object.into_raw(), fault))
    }
}

/// Adds the pieces of the input to a block, which may have begun with its input. Returns the reason if the
/// arguments cannot be read.
fn add_input(block: &mut RawObject, pieces: &str) -> Option<String> {
    if pieces.is_empty() {
        return None;
    }
    let begin = block.get("input").filter(|input| input.get().starts_with('{'));
    let begin = begin.map(RawValue::get).filter(|begin| !is_empty_object(begin));
    let whole = format!("{}{pieces}", begin.unwrap_or_default());
    match RawValue::from_string(whole.clone()) {
        Ok(input) => block.set("input", input),
        Err(error) => match recover(&whole) {
            Some((_, json)) => block.set("input", RawValue::from_string(json).ok()?),
            None => return Some(unreadable(&error)),
        },
    }
    None
}

fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inner| inner.trim().is_empty())
}
