//! Messages assembled from the chunks of a stream.

use rye_thread::{Delta, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::Value;

use super::decode::{reply, shape};
use crate::openai_error::{of_base_response, refusal};
use crate::raw::{Few, RawObject, Small, raw};
use crate::usage::{ChatCount, Reported};
use crate::wire::{Assemble, DecodeError, Progress, StreamError, order, text};

mod call;
mod member;

use self::call::Calls;
use self::member::Members;

/// A message that is being assembled.
#[derive(Default)]
pub(super) struct Completion {
    members: Members,
    calls: Calls,
    /// The call of a server that knows only one call in an answer.
    old_call: Calls,
    finish_reason: Option<String>,
    count: Option<Reported<ChatCount>>,
    is_closed: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Few<Choice>,
    usage: Option<Reported<ChatCount>>,
    error: Option<Small>,
    base_resp: Option<Small>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<RawObject>,
    /// The whole message, in place of its pieces or behind them.
    message: Option<RawObject>,
    finish_reason: Option<String>,
}

impl Choice {
    fn says_something(&self) -> bool {
        let mut pieces = [&self.delta, &self.message].into_iter().flatten();
        pieces.any(|piece| piece.names().next().is_some()) || self.finish_reason.is_some()
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
        let error = chunk.error.as_ref().and_then(|error| refusal(500, &error.0));
        let report = chunk.base_resp.as_ref().and_then(|report| of_base_response(&report.0));
        if let Some(refusal) = error.or(report) {
            return Err(StreamError::Refused(refusal));
        }
        // A count covers the chunks up to its own, so a later chunk with content makes it invalid.
        let goes_on = chunk.choices.0.iter().any(Choice::says_something);
        self.count = chunk.usage.or(self.count.take().filter(|_| !goes_on));
        // Only the first choice counts, because one answer was asked for.
        let mut kept = 0;
        let is_first = |choice: &Choice| choice.index.unwrap_or_default() == 0;
        for choice in chunk.choices.0.into_iter().filter(is_first) {
            let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
            let delta = choice.delta.filter(|delta| delta.names().next().is_some());
            let piece = match (delta, choice.message) {
                (None, Some(message)) => self.new_of(message)?,
                (delta, _) => delta.unwrap_or_default(),
            };
            kept += piece.size();
            self.grow(piece, deltas)?;
        }
        Ok((Progress::More, kept))
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the reply. A stream without its last event is complete if its count arrived, which is sent
    /// directly before that event, or if HTTP marked the end.
    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let Self { members, calls, old_call, finish_reason, count, is_closed } = *self;
        let finish_reason = finish_reason.filter(|_| is_closed || count.is_some());
        let finish_reason = finish_reason.ok_or(DecodeError::Unfinished)?;
        let calls = if calls.is_empty() { old_call } else { calls };
        let calls = calls.into_raw()?;
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
            match name.as_str() {
                "tool_calls" => self.calls.grow(&value, deltas).map_err(shape)?,
                "function_call" if value.get().starts_with('{') => {
                    self.old_call.grow_function(&value, deltas).map_err(shape)?;
                }
                _ => {
                    let text = self.members.grow(&name, value).map_err(shape)?;
                    match name.as_str() {
                        "content" | "refusal" => tell(deltas, Delta::Text(text)),
                        "reasoning_content" | "reasoning" => tell(deltas, Delta::Reasoning(text)),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the members of a message that are not there yet. A message in place of pieces is read as a piece;
    /// one behind them repeats them.
    fn new_of(&self, mut message: RawObject) -> Result<RawObject, StreamError> {
        for name in ["content", "refusal", "reasoning_content", "reasoning"] {
            let (old, new) = (self.members.text(name), message.text(name).unwrap_or_default());
            match old.filter(|old| !old.is_empty()) {
                Some(old) if old == new => message.remove(name),
                Some(old) if !new.is_empty() && new.starts_with(old) => {
                    return Err(order("a message repeats a part of the text before it"));
                }
                _ => {}
            }
        }
        let calls = message.get("tool_calls").filter(|calls| calls.get().contains('{'));
        if let Some(calls) = calls.filter(|_| self.calls.has_arguments()) {
            if !self.calls.are_repeated_by(calls) {
                return Err(order("a message has other calls than those before it"));
            }
            message.remove("tool_calls");
        }
        Ok(message)
    }
}

fn tell(deltas: &dyn DeltaSink, delta: Delta<'_>) {
    if !matches!(delta, Delta::Text("") | Delta::Reasoning("")) {
        deltas.delta(delta);
    }
}
