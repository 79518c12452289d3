//! Messages assembled from the chunks of a stream.

use rye_thread::{Delta, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::Value;

use super::decode::{reply, shape};
use crate::openai_error::refusal;
use crate::raw::{Few, RawObject, Small, raw};
use crate::usage::ChatCount;
use crate::wire::{Assemble, Progress, StreamError};
use crate::wire::{DecodeError, text};

mod call;
mod member;

use self::call::Calls;
use self::member::Members;

/// A message that is being assembled.
#[derive(Default)]
pub(super) struct Completion {
    members: Members,
    calls: Calls,
    finish_reason: Option<String>,
    count: Option<ChatCount>,
    is_closed: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Few<Choice>,
    usage: Option<ChatCount>,
    error: Option<Small>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<RawObject>,
    finish_reason: Option<String>,
}

impl Choice {
    fn says_something(&self) -> bool {
        let has_members = self.delta.as_ref().is_some_and(|delta| delta.names().next().is_some());
        has_members || self.finish_reason.is_some()
    }
}

impl Assemble for Completion {
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        if data.trim_ascii() == b"[DONE]" {
            self.is_closed = true;
            return Ok((Progress::Done, 0));
        }
        let chunk: Chunk = serde_json::from_str(text(data)?).map_err(shape)?;
        if let Some(refusal) = chunk.error.as_ref().and_then(|error| refusal(500, &error.0)) {
            return Err(StreamError::Refused(refusal));
        }
        // A count covers the chunks up to its own, so a later chunk with content makes it invalid.
        let goes_on = chunk.choices.0.iter().any(Choice::says_something);
        self.count = chunk.usage.or(self.count.take().filter(|_| !goes_on));
        // Only the first choice counts, because one answer was asked for.
        let mut kept = 0;
        for choice in chunk.choices.0.into_iter().filter(|choice| choice.index == 0) {
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
            let delta = choice.delta.unwrap_or_default();
            kept += delta.size();
            self.grow(delta, deltas)?;
        }
        Ok((Progress::More, kept))
    }

    /// Returns the reply. A stream without its last event is complete if its count arrived, which is sent
    /// directly before that event.
    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let Self { members, calls, finish_reason, count, is_closed } = *self;
        let finish_reason = finish_reason.filter(|_| is_closed || count.is_some());
        let finish_reason = finish_reason.ok_or(DecodeError::Unfinished)?;
        let calls = calls.into_raw();
        let mut message = RawObject::default();
        for (name, value) in members.into_raw() {
            // The first chunk of a call has an empty text; a whole response has `null`.
            let is_empty_text = name == "content" && value.get() == "\"\"" && !calls.is_empty();
            message.set(&name, if is_empty_text { raw(&Value::Null) } else { value });
        }
        if !calls.is_empty() {
            message.set("tool_calls", raw(&calls));
        }
        reply(&message.into_raw(), Some(&finish_reason), count.as_ref())
    }
}

impl Completion {
    fn grow(&mut self, delta: RawObject, deltas: &dyn DeltaSink) -> Result<(), StreamError> {
        for (name, value) in delta.members() {
            let text = || serde_json::from_str::<String>(value.get()).unwrap_or_default();
            match name.as_str() {
                "tool_calls" => {
                    self.calls.grow(&value, deltas).map_err(shape)?;
                    continue;
                }
                "content" | "refusal" => tell(deltas, Delta::Text(&text())),
                "reasoning_content" | "reasoning" => tell(deltas, Delta::Reasoning(&text())),
                _ => {}
            }
            self.members.grow(&name, value).map_err(shape)?;
        }
        Ok(())
    }
}

fn tell(deltas: &dyn DeltaSink, delta: Delta<'_>) {
    if !matches!(delta, Delta::Text("") | Delta::Reasoning("")) {
        deltas.delta(delta);
    }
}
