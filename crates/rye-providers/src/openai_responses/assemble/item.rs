//! One output item: what began it, the pieces of its texts, and the item as it was done.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::decode::{Said, texts_of};
use crate::halves::{self, Pieces};
use crate::raw::{Few, RawObject, raw, small, text_value};

/// The id and the place of an item, of which compatible servers may omit one or both.
#[derive(Default)]
pub(super) struct Address<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) place: Option<u64>,
}

/// An item that is being assembled.
#[derive(Default)]
pub(super) struct Item {
    id: Option<String>,
    place: u64,
    kind: Option<String>,
    begun: Option<RawObject>,
    done: Option<Box<RawValue>>,
    /// `true` if the item as it was done has all that its pieces could add.
    is_settled: bool,
    texts: Vec<Text>,
    arguments: Text,
    name: Option<String>,
    /// The number of bytes that are kept of pieces.
    kept: usize,
}

/// A text that may come in pieces and whole.
#[derive(Default)]
pub(super) struct Text {
    slot: Slot,
    pieces: Pieces,
    whole: Option<String>,
    /// The whole text as JSON.
    written: Option<Box<RawValue>>,
}

/// The place of a text in its item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    /// The list of the item that holds the text.
    pub(super) list: &'static str,
    /// The type of the part, which is also the member of a refusal.
    pub(super) kind: &'static str,
    pub(super) index: u64,
}

impl Slot {
    fn member(self) -> &'static str {
        if self.kind == "refusal" { "refusal" } else { "text" }
    }

    fn item_kind(self) -> &'static str {
        if matches!(self.kind, "output_text" | "refusal") { "message" } else { "reasoning" }
    }
}

impl Text {
    /// Adds a piece and returns the new text.
    fn push(&mut self, piece: &RawValue) -> Result<&str, &'static str> {
        self.pieces.push(piece).ok_or("a piece of text is no text")
    }

    /// Returns `true` if a text that was sent whole has what came in pieces. White space around it does not matter.
    fn is_in(&self, whole: &str) -> bool {
        let pieces = self.pieces.as_str();
        whole.is_empty() || whole == pieces || whole.contains(pieces.trim())
    }

    /// Returns `true` if the part has the whole text exactly as it was written before, so that it need not be read again.
    fn is_written_in(&self, part: &Part<'_>) -> bool {
        let written = self.written.as_deref().map(RawValue::get);
        let text = match part.kind.map(RawValue::get) {
            Some("\"output_text\"") => part.text,
            Some("\"refusal\"") => part.refusal,
            _ => None,
        };
        written.is_some() && text.map(RawValue::get) == written
    }

    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.whole.as_deref().is_none_or(str::is_empty)
    }

    fn finish(self) -> String {
        let (pieces, _) = self.pieces.finish();
        self.whole.filter(|whole| !whole.is_empty()).unwrap_or(pieces)
    }
}

const DIFFERENT_ARGUMENTS: &str = "the arguments of a call differ between its events";
const DIFFERENT_TEXTS: &str = "a text of an item differs between its events";

/// The largest number of texts of an item. It is bounded because texts are found by linear search.
const MOST_TEXTS: usize = 1_000;

impl Item {
    pub(super) fn new(id: Option<String>, place: u64) -> Self {
        Self { id, place, ..Self::default() }
    }

    pub(super) fn place(&self) -> u64 {
        self.place
    }

    /// Returns `true` if the address has the id of the item, and no other place.
    pub(super) fn has_address(&self, address: &Address<'_>) -> bool {
        address.id.is_some()
            && address.id.as_deref() == self.id.as_deref()
            && address.place.is_none_or(|place| place == self.place)
    }

    /// The type of the item, once it is known.
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    pub(super) fn done(&self) -> Option<&RawValue> {
        self.done.as_deref()
    }

    /// Returns `true` if the item lacks something that may still come.
    pub(super) fn is_open(&self) -> bool {
        !self.is_settled
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        let has_texts = !self.texts.is_empty() && self.texts.iter().all(|it| it.whole.is_some());
        self.done.is_some() || has_texts || self.arguments.whole.is_some()
    }

    pub(super) fn begin(&mut self, object: RawObject) {
        self.kind = object.text("type");
        self.begun = Some(object);
    }

    /// Adds a piece of a text and returns the new text.
    pub(super) fn grow(&mut self, slot: Slot, piece: &RawValue) -> Result<&str, &'static str> {
        self.kept += piece.get().len();
        self.text(slot)?.push(piece)
    }

    /// Adds a text that was sent whole.
    pub(super) fn tell(&mut self, slot: Slot, written: &RawValue) -> Result<(), &'static str> {
        let whole = halves::text(written.get()).ok_or("a text is no text")?;
        self.kept += whole.len();
        let text = self.text(slot)?;
        if !text.is_in(&whole) {
            return Err(DIFFERENT_TEXTS);
        }
        (text.whole, text.written) = (Some(whole), Some(written.to_owned()));
        Ok(())
    }

    pub(super) fn grow_arguments(&mut self, piece: &RawValue) -> Result<(), &'static str> {
        self.kept += piece.get().len();
        self.arguments.push(piece).map(drop)
    }

    /// Adds arguments that were sent whole, which may be the object itself.
    pub(super) fn tell_arguments(
        &mut self,
        whole: &RawValue,
        name: Option<String>,
    ) -> Result<(), &'static str> {
        let whole = halves::text(whole.get()).unwrap_or_else(|| whole.get().to_owned());
        self.kept += whole.len();
        self.name = name;
        self.arguments.whole = Some(whole);
        match &self.done {
            Some(done) if self.is_settled => self.check_arguments(&RawObject::of(done)),
            _ => Ok(()),
        }
    }

    fn text(&mut self, slot: Slot) -> Result<&mut Text, &'static str> {
        let at = match self.texts.iter().rposition(|text| text.slot == slot) {
            Some(at) => at,
            None if MOST_TEXTS <= self.texts.len() => {
                return Err("an item has more than 1000 texts");
            }
            None => {
                self.texts.push(Text { slot, ..Text::default() });
                self.texts.len() - 1
            }
        };
        Ok(self.texts.get_mut(at).expect("because the place was just found or made"))
    }

    /// Reads the item as it is done. Returns the number of bytes that are kept more.
    pub(super) fn end(
        &mut self,
        done: &RawValue,
        object: &RawObject,
    ) -> Result<usize, &'static str> {
        if let Some(old) = self.done.as_deref().filter(|_| self.is_settled) {
            let old = RawObject::of(old);
            check_same(&old, object)?;
            // Parts of unknown types alone do not take the place of a text.
            if !says_something(object, !texts(&old).is_empty()) {
                return Ok(0);
            }
        }
        self.kind = object.text("type");
        let is_repeated = self.is_repeated_by(object);
        self.is_settled = is_repeated || self.is_said_by(object);
        let mut kept = done.get().len();
        if self.is_settled {
            self.check_heard()?;
            self.check_arguments(object)?;
            if !is_repeated {
                self.check_texts(object)?;
            }
            (self.texts, self.arguments, self.begun) = (Vec::new(), Text::default(), None);
            kept = kept.saturating_sub(self.kept);
        }
        self.done = Some(done.to_owned());
        Ok(kept)
    }

    /// Reads the item once more, from the end of the response.
    pub(super) fn learn(&mut self, whole: &RawValue) -> Result<usize, &'static str> {
        if self.is_settled {
            return Ok(0);
        }
        let object = RawObject::of(whole);
        let is_known = self.done.is_some() && !self.is_said_by(&object);
        if is_known { Ok(0) } else { self.end(whole, &object) }
    }

    fn is_said_by(&self, item: &RawObject) -> bool {
        says_something(item, !self.texts.is_empty())
    }

    /// Fails if the arguments of the call differ from those of other events.
    fn check_arguments(&self, done: &RawObject) -> Result<(), &'static str> {
        let last = arguments(done).unwrap_or_default();
        let whole = self.arguments.whole.as_deref().unwrap_or_default();
        let differs =
            [whole, self.arguments.pieces.as_str()].into_iter().any(|it| differ(it, &last));
        if differs { Err(DIFFERENT_ARGUMENTS) } else { Ok(()) }
    }

    /// Returns `true` if the message has all its whole texts exactly as they were written before.
    fn is_repeated_by(&self, message: &RawObject) -> bool {
        let mut heard = self.texts_of_a_message().peekable();
        if heard.peek().is_none() || self.kind.as_deref() != Some("message") {
            return false;
        }
        let parts = message.get("content").map(|list| serde_json::from_str(list.get()));
        let Few(parts): Few<Part<'_>> = parts.and_then(Result::ok).unwrap_or_default();
        heard.all(|text| parts.iter().any(|part| text.is_written_in(part)))
    }

    /// Fails if the texts of the message lack what came in pieces.
    fn check_texts(&self, done: &RawObject) -> Result<(), &'static str> {
        let mut heard = self.texts_of_a_message().peekable();
        if heard.peek().is_none() {
            return Ok(());
        }
        let whole = texts(done);
        let has = |text: &Text| whole.iter().any(|whole| !whole.is_empty() && text.is_in(whole));
        if heard.all(has) { Ok(()) } else { Err(DIFFERENT_TEXTS) }
    }

    fn texts_of_a_message(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.slot.item_kind() == "message" && !text.is_empty())
    }

    /// Fails if the item has another type than what was heard of it, or if its arguments or a text were heard in two ways. Pieces may
    /// come behind their whole text, and are compared with it here, once.
    pub(super) fn check_heard(&self) -> Result<(), &'static str> {
        let has_text = self.texts_of_a_message().next().is_some();
        let has_call = !self.arguments.is_empty();
        let has_thought = self.texts.iter().any(|it| it.slot.item_kind() == "reasoning");
        let fits = match self.kind() {
            None => [has_text, has_call, has_thought].into_iter().filter(|it| *it).count() < 2,
            Some("message") => !has_call,
            Some("function_call") => !has_text,
            Some(_) => !has_text && !has_call,
        };
        let whole = self.arguments.whole.as_deref().unwrap_or_default();
        let is_one = |text: &Text| text.whole.as_deref().is_none_or(|whole| text.is_in(whole));
        match fits {
            false => Err("an item has pieces of another type of item"),
            true if !self.texts.iter().all(is_one) => Err(DIFFERENT_TEXTS),
            true if differ(self.arguments.pieces.as_str(), whole) => Err(DIFFERENT_ARGUMENTS),
            true => Ok(()),
        }
    }

    /// Returns the item as a response in one piece has it.
    pub(super) fn into_raw(self) -> Box<RawValue> {
        let Self { id, begun, done, is_settled, texts, arguments, name, .. } = self;
        let mut object = match done {
            Some(done) if is_settled => return done,
            Some(done) => RawObject::of(&done),
            None => begun.unwrap_or_default(),
        };
        let arguments = arguments.finish();
        if object.lacks("type") {
            let kind = texts.first().map_or("function_call", |text| text.slot.item_kind());
            object.set_text("type", kind);
            id.iter().for_each(|id| object.set_text("id", id));
        }
        if object.text("status").as_deref() == Some("in_progress") {
            object.set_text("status", "completed");
        }
        match object.text("type").as_deref() {
            Some("function_call") => {
                name.filter(|_| object.lacks("name"))
                    .iter()
                    .for_each(|name| object.set_text("name", name));
                if says_arguments(&arguments) {
                    object.set("arguments", text_value(&arguments));
                }
            }
            Some("message") => {
                for (member, value) in [("role", "assistant"), ("status", "completed")] {
                    if object.lacks(member) {
                        object.set_text(member, value);
                    }
                }
                fill(&mut object, texts);
            }
            _ => fill(&mut object, texts),
        }
        object.into_raw()
    }
}

/// Fails if an item that is done a second time is another one, or lacks what it had.
fn check_same(old: &RawObject, new: &RawObject) -> Result<(), &'static str> {
    if old.text("type") != new.text("type") {
        return Err("an item is done twice, with two types");
    }
    let [before, after] = [old, new].map(|item| arguments(item).unwrap_or_default());
    if differ(&before, &after) {
        return Err(DIFFERENT_ARGUMENTS);
    }
    let after = texts(new);
    let is_there = |text: &String| after.is_empty() || after.iter().any(|it| it.contains(text));
    if texts(old).iter().all(is_there) { Ok(()) } else { Err(DIFFERENT_TEXTS) }
}

/// Adds texts to the lists of an item that lack them.
fn fill(item: &mut RawObject, mut texts: Vec<Text>) {
    texts.sort_by_key(|text| text.slot.index);
    for list in ["summary", "content"] {
        let old = item.get(list).map(|list| serde_json::from_str(list.get()).unwrap_or_default());
        let Few(mut parts): Few<RawObject> = old.unwrap_or_default();
        let (here, others): (Vec<_>, Vec<_>) =
            texts.into_iter().partition(|it| it.slot.list == list);
        texts = others;
        if here.is_empty() {
            continue;
        }
        for text in here {
            let Slot { index, kind, .. } = text.slot;
            let member = text.slot.member();
            let whole = text.finish();
            let at = usize::try_from(index).unwrap_or(usize::MAX);
            match parts.get_mut(at).filter(|part| part.text("type").as_deref() == Some(kind)) {
                Some(part) if part.text(member).is_none_or(|old| old.is_empty()) => {
                    part.set_text(member, &whole);
                }
                Some(_) => {}
                None => parts.push(part(kind, member, &whole)),
            }
        }
        item.set(list, raw(&parts));
    }
}

fn part(kind: &str, member: &str, text: &str) -> RawObject {
    let mut part = RawObject::default();
    part.set_text("type", kind);
    part.set_text(member, text);
    if kind == "output_text" {
        part.set("annotations", raw(&Vec::<Value>::new()));
    }
    part
}

/// Returns `true` if the item has the text or the arguments that its kind is for. Parts of unknown types say
/// something if no text of the item was heard.
fn says_something(item: &RawObject, is_heard: bool) -> bool {
    let parts = |list: &str| {
        let list = item.get(list).map(|list| serde_json::from_str(list.get()).unwrap_or_default());
        let Few(parts): Few<Part<'_>> = list.unwrap_or_default();
        parts
    };
    let has_text = |text: Option<&RawValue>| text.is_some_and(|text| text.get() != "\"\"");
    match item.text("type").as_deref() {
        Some("function_call") => arguments(item).is_some_and(|json| says_arguments(&json)),
        Some("message") => parts("content").iter().any(|part| match part.kind.map(RawValue::get) {
            Some("\"output_text\"") => has_text(part.text),
            Some("\"refusal\"") => has_text(part.refusal),
            None if part.text.is_some() || part.refusal.is_some() => {
                has_text(part.text) || has_text(part.refusal)
            }
            _ => !is_heard,
        }),
        Some("reasoning") => {
            item.get("encrypted_content").is_some_and(|it| it.get() != "null")
                || ["summary", "content"].iter().any(|list| !parts(list).is_empty())
        }
        _ => true,
    }
}

/// The part of a list of an item, as far as it says something.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
}

fn texts(message: &RawObject) -> Vec<String> {
    let all = texts_of(message).unwrap_or_default();
    all.into_iter().map(|(Said::Text(text) | Said::Refusal(text))| text).collect()
}

/// Returns the arguments of a call as JSON.
fn arguments(call: &RawObject) -> Option<String> {
    let arguments = call.get("arguments")?;
    Some(halves::text(arguments.get()).unwrap_or_else(|| arguments.get().to_owned()))
}

/// Returns `true` if both are arguments that say something, and not the same.
fn differ(one: &str, other: &str) -> bool {
    if one == other || !says_arguments(one) {
        return false;
    }
    let [one, other] = [one, other].map(|json| small(json).ok());
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

fn says_arguments(json: &str) -> bool {
    let json = json.trim();
    let inner = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    !matches!(json, "" | "null") && inner.is_none_or(|inner| !inner.trim().is_empty())
}
