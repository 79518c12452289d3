//! Conversations written as the JSON of a body, each part once.

use std::sync::Arc;

use rye_thread::{Message, Reply, Request, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::Protocol;
use crate::conversation::UserTurn;
use crate::raw::raw;
use crate::wire::EncodeError;

/// Elements of a conversation's list, each as it is sent.
pub(crate) type Parts = Vec<Box<RawValue>>;

/// The encoder of a protocol. The JSON of each part depends only on the part, so it is written once.
pub(crate) struct Encoder {
    pub(crate) protocol: Protocol,
    /// Writes the system message, which is not empty.
    pub(crate) system: fn(&str) -> Box<RawValue>,
    /// Writes the tools, sorted by name; there is at least one.
    pub(crate) tools: fn(&[&ToolSpec]) -> Box<RawValue>,
    /// Writes an answer, given its index among the messages. An answer without content gives no parts,
    /// because a provider refuses it.
    pub(crate) answer: fn(&Reply, usize) -> Result<Parts, EncodeError>,
    /// Writes the user's side before an answer or at the end, given the preceding answer.
    pub(crate) user: fn(&UserTurn<'_>, Option<&Reply>) -> Parts,
}

/// The parts before the conversation, which do not change while it grows.
pub(crate) struct Frame<'a> {
    /// The system message, or `None` if it is missing or empty.
    pub(crate) system: Option<&'a RawValue>,
    /// The tools, or `None` if there are none.
    pub(crate) tools: Option<&'a RawValue>,
}

impl Encoder {
    /// Writes a body that ends with the list of the conversation's parts. `head` writes the body up to the
    /// start of that list.
    pub(crate) fn body(
        &self,
        request: &Request,
        head: impl FnOnce(&Frame<'_>) -> Result<String, EncodeError>,
    ) -> Result<String, EncodeError> {
        request.messages.note(|written: &mut Written| {
            if written.protocol != Some(self.protocol) {
                *written = Written { protocol: Some(self.protocol), ..Written::default() };
            }
            let mut body = head(&written.frame(self, request))?;
            let rest = written.add(self, &request.messages)?;
            body.reserve_exact(
                written.parts.len()
                    + rest.iter().map(|part| part.get().len() + 1).sum::<usize>()
                    + 3,
            );
            append(&mut body, std::iter::once(&*written.parts).filter(|parts| !parts.is_empty()));
            append(&mut body, rest.iter().map(|part| part.get()));
            body.push_str("]}");
            Ok(body)
        })
    }
}

/// Writes an object without its closing brace, followed by the start of a last member `name`, which is a
/// list.
pub(crate) fn up_to_list(members: &impl Serialize, name: &str) -> Result<String, EncodeError> {
    let mut text = serde_json::to_string(members).map_err(EncodeError::Json)?;
    let brace = text.pop();
    debug_assert_eq!(brace, Some('}'), "only objects have members");
    if !text.ends_with('{') {
        text.push(',');
    }
    text.extend(["\"", name, "\":["]);
    Ok(text)
}

/// The JSON of a conversation so far, which does not change while the conversation grows.
#[derive(Default)]
struct Written {
    protocol: Option<Protocol>,
    system: Option<(Arc<str>, Box<RawValue>)>,
    tools: Option<(Arc<[ToolSpec]>, Box<RawValue>)>,
    /// The parts up to the last answer, with commas between them.
    parts: String,
    /// The number of messages in `parts`. The last of them is an answer.
    messages: usize,
}

impl Written {
    fn frame(&mut self, encoder: &Encoder, request: &Request) -> Frame<'_> {
        let system = request.system.as_ref().filter(|system| !system.is_empty());
        let system = system.map(|system| {
            let kept = self.system.take().filter(|(kept, _)| Arc::ptr_eq(kept, system));
            let kept = kept.unwrap_or_else(|| (Arc::clone(system), (encoder.system)(system)));
            &*self.system.insert(kept).1
        });
        let tools = (!request.tools.is_empty()).then(|| {
            let kept = self.tools.take().filter(|(kept, _)| Arc::ptr_eq(kept, &request.tools));
            let kept = kept.unwrap_or_else(|| {
                (Arc::clone(&request.tools), (encoder.tools)(&sort_by_name(&request.tools)))
            });
            &*self.tools.insert(kept).1
        });
        Frame { system, tools }
    }

    /// Adds the new messages up to the last answer, and returns the parts after it, which may still grow.
    fn add(&mut self, encoder: &Encoder, messages: &[Message]) -> Result<Parts, EncodeError> {
        let mut user = UserTurn::default();
        for (index, message) in messages.iter().enumerate().skip(self.messages) {
            match message {
                Message::User { text } => user.texts.push(text),
                Message::ToolResults { results } => user.results.extend(results),
                Message::Assistant { reply } => {
                    let answer = (encoder.answer)(reply, index)?;
                    if !answer.is_empty() {
                        let before = self.user(encoder, messages, &std::mem::take(&mut user));
                        append(&mut self.parts, before.iter().map(|part| part.get()));
                        append(&mut self.parts, answer.iter().map(|part| part.get()));
                        self.messages = index + 1;
                    }
                }
                _ => return Err(EncodeError::Foreign { index }),
            }
        }
        Ok(self.user(encoder, messages, &user))
    }

    fn user(&self, encoder: &Encoder, messages: &[Message], user: &UserTurn<'_>) -> Parts {
        if user.is_empty() {
            return Vec::new();
        }
        let before = self.messages.checked_sub(1).and_then(|index| messages.get(index));
        let before = before.and_then(|message| match message {
            Message::Assistant { reply } => Some(&**reply),
            _ => None,
        });
        (encoder.user)(user, before)
    }
}

/// Sorts the tools by name.
fn sort_by_name(tools: &[ToolSpec]) -> Vec<&ToolSpec> {
    let mut tools: Vec<&ToolSpec> = tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

fn append<'a>(parts: &mut String, more: impl IntoIterator<Item = &'a str>) {
    for part in more {
        separate(parts);
        parts.push_str(part);
    }
}

/// Adds a comma, except at the start of the text or of the list. No JSON value ends with `[`.
fn separate(parts: &mut String) {
    if !parts.is_empty() && !parts.ends_with('[') {
        parts.push(',');
    }
}

/// Writes the JSON of tools, each converted by `one`.
pub(crate) fn list<'a, T: Serialize>(
    tools: &[&'a ToolSpec],
    one: impl Fn(&'a ToolSpec) -> T,
) -> Box<RawValue> {
    let tools: Vec<T> = tools.iter().map(|tool| one(tool)).collect();
    raw(&tools)
}
