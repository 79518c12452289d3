//! Contents assembled from the chunks of a stream.

use rye_thread::{Delta, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Candidate, Response, refusal_word, reply, shape};
use super::error::read_error;
use crate::halves::Pieces;
use crate::raw::{Few, MOST_ENTRIES, RawObject, raw, too_many_entries};
use crate::usage::{GeminiCount, Reported};
use crate::wire::{Assemble, Progress, StreamError};
use crate::wire::{DecodeError, text};

/// A content that is being assembled.
#[derive(Default)]
pub(super) struct Content {
    /// The members of the content.
    object: RawObject,
    parts: Vec<Part>,
    finish: Option<String>,
    count: Option<Reported<GeminiCount>>,
}

/// A part. Its text is apart if more chunks may have pieces of it.
struct Part {
    object: RawObject,
    text: Pieces,
    /// The JSON of its `thought` member if it is plain text, empty without that member.
    plain: Option<String>,
}

impl Part {
    fn new(object: RawObject) -> Self {
        let plain = plain(&object);
        Self { object, text: Pieces::default(), plain }
    }

    /// Takes the text of a part that may grow, and returns it.
    fn begin(&mut self) -> &str {
        let Self { object, text, .. } = self;
        object.get("text").and_then(|begin| text.push(begin)).unwrap_or_default()
    }

    /// Adds the text of another part, and returns what is new.
    fn append(&mut self, more: &RawObject) -> &str {
        more.get("text").and_then(|more| self.text.push(more)).unwrap_or_default()
    }

    fn into_object(self) -> RawObject {
        let Self { mut object, text, plain } = self;
        if plain.is_some() {
            object.set_text("text", &text.finish().0);
        }
        object
    }
}

#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    parts: Few<RawObject>,
}

impl Assemble for Content {
    /// Reads a chunk. No event marks the end of the answer, so more chunks may always follow.
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        if let Some(refusal) = read_error(500, data) {
            return Err(StreamError::Refused(refusal));
        }
        let chunk: Response = serde_json::from_str(text(data)?).map_err(shape)?;
        // A count covers the chunks up to its own, so a later chunk with content makes it invalid.
        let goes_on = !chunk.candidates.0.is_empty();
        self.count = chunk.usage_metadata.or(self.count.take().filter(|_| !goes_on));
        let block = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason);
        self.finish = block.map(refusal_word).or(self.finish.take());
        let mut kept = 0;
        let is_first = |candidate: &Candidate| candidate.index.unwrap_or_default() == 0;
        for candidate in chunk.candidates.0.into_iter().filter(is_first) {
            let reason = candidate.finish_reason.filter(|reason| !reason.is_empty());
            self.finish = reason.or(self.finish.take());
            if let Some(content) = candidate.content {
                kept += content.get().len();
                self.grow(&content, deltas).map_err(shape)?;
            }
        }
        Ok((Progress::More, kept))
    }

    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let Self { mut object, parts, finish, count } = *self;
        let finish = finish.ok_or(DecodeError::Unfinished)?;
        if object.get("role").is_none() {
            object.set_text("role", "model");
        }
        let parts: Vec<RawObject> = parts.into_iter().map(Part::into_object).collect();
        object.set("parts", raw(&parts));
        reply(&object.into_raw(), &finish, count.as_ref())
    }
}

/// Reads a list of chunks.
pub(super) fn of_chunks(list: &str) -> Result<Reply, DecodeError> {
    let Few(chunks): Few<&RawValue> = serde_json::from_str(list).map_err(shape)?;
    let mut content = Box::<Content>::default();
    for chunk in chunks {
        content.event(chunk.get().as_bytes(), &()).map_err(|error| match error {
            StreamError::Decode(error) => error,
            // An error is told before its list is decoded.
            StreamError::Refused(_) => DecodeError::Empty,
        })?;
    }
    content.finish()
}

impl Content {
    fn grow(&mut self, content: &RawValue, deltas: &dyn DeltaSink) -> serde_json::Result<()> {
        let more: Parts = serde_json::from_str(content.get())?;
        let object: RawObject = serde_json::from_str(content.get())?;
        // The order of the members is that of the first chunk.
        for (name, value) in object.members() {
            self.object.grow(&name, value)?;
        }
        for mut part in more.parts.0.into_iter().map(Part::new) {
            // Only plain text is joined: a signed part stays as it is, and so does the part after it.
            let is_same = |last: &&mut Part| last.plain.is_some() && last.plain == part.plain;
            if let Some(last) = self.parts.last_mut().filter(is_same) {
                let text = last.append(&part.object);
                tell(&part.object, text, deltas);
                continue;
            }
            if MOST_ENTRIES <= self.parts.len() {
                return Err(too_many_entries());
            }
            if part.plain.is_some() {
                let is_thought = is_thought(&part.object);
                tell_text(is_thought, part.begin(), deltas);
            } else {
                tell(&part.object, &part.object.text("text").unwrap_or_default(), deltas);
            }
            self.parts.push(part);
        }
        Ok(())
    }
}

/// Returns the JSON of the `thought` member if the part is nothing but text.
fn plain(part: &RawObject) -> Option<String> {
    let is_plain =
        part.text("text").is_some() && part.names().all(|name| matches!(name, "text" | "thought"));
    let thought = part.get("thought").map_or("", RawValue::get);
    is_plain.then(|| thought.to_owned())
}

fn is_thought(part: &RawObject) -> bool {
    part.get("thought").is_some_and(|thought| thought.get() == "true")
}

/// Sends the new text of a part, and its call.
fn tell(part: &RawObject, text: &str, deltas: &dyn DeltaSink) {
    tell_text(is_thought(part), text, deltas);
    let call = part.get("functionCall").map(RawObject::of);
    if let Some(name) = call.and_then(|call| call.text("name")) {
        deltas.delta(Delta::Call(&name));
    }
}

fn tell_text(is_thought: bool, text: &str, deltas: &dyn DeltaSink) {
    match text {
        "" => {}
        text if is_thought => deltas.delta(Delta::Reasoning(text)),
        text => deltas.delta(Delta::Text(text)),
    }
}
