//! One answer of a model: what was received, and the view of it that a thread reads.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use serde_json::value::RawValue;

use super::depth::{MAX_DEPTH, nests_too_deep};
use crate::Usage;

/// An answer of a model.
///
/// The fields are a view; [`Reply::raw`] is what counts and what is sent back (WIRES 1.0).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reply {
    raw: Box<RawValue>,
    /// The text blocks, joined.
    pub text: String,
    /// The readable reasoning, joined.
    pub reasoning: String,
    /// The tool calls in the order that the model made them.
    pub calls: Vec<ToolCall>,
    /// What the request used.
    pub usage: Usage,
    /// Whether `usage` is the provider's count; [`drive`](crate::drive) takes the worst case where nobody counted.
    pub counted: Counted,
    /// Why the model stopped.
    pub stop: StopReason,
}

impl Reply {
    /// A reply with this content and nothing read from it yet.
    ///
    /// The content is kept byte for byte, but for line ends between JSON tokens, which become spaces: a record of the
    /// transcript is one line. Text inside JSON strings has none.
    #[must_use]
    pub fn new(raw: Box<RawValue>, stop: StopReason) -> Self {
        Self {
            raw: on_one_line(raw),
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            counted: Counted::ByProvider,
            stop,
        }
    }

    /// The assistant content as received, for the provider that made it to send again.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

/// JSON strings hold no raw line ends, so that every one found lies between tokens.
fn on_one_line(raw: Box<RawValue>) -> Box<RawValue> {
    if !raw.get().contains(['\n', '\r']) {
        return raw;
    }
    let line = raw.get().replace(['\n', '\r'], " ");
    RawValue::from_string(line).unwrap_or(raw)
}

/// Who counted the tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a count is there or it is not")]
pub enum Counted {
    /// The provider did.
    ByProvider,
    /// The provider answered and gave no count.
    ByNobody,
}

/// One tool call of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's id of the call, or one made for the thread where the provider has none.
    pub id: String,
    /// The palette name that the model called.
    pub name: String,
    /// The arguments, or why they could not be read.
    pub arguments: Result<Value, String>,
}

impl ToolCall {
    /// A call with arguments that were read; those nested deeper than 64 levels are [unreadable](Self::unreadable), so
    /// that every record of a call can be read again.
    #[must_use]
    pub fn new(id: &str, name: &str, arguments: Value) -> Self {
        if nests_too_deep(&arguments) {
            let reason = format!("the arguments are nested deeper than {MAX_DEPTH} levels");
            return Self::unreadable(id, name, &reason);
        }
        Self { id: id.to_owned(), name: name.to_owned(), arguments: Ok(arguments) }
    }

    /// A call whose arguments could not be read, for this reason.
    #[must_use]
    pub fn unreadable(id: &str, name: &str, reason: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), arguments: Err(reason.to_owned()) }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The conversation no longer fits the model's context window.
    ContextWindow,
    /// It said what it had to say.
    EndTurn,
    /// The answer reached the most tokens it may have, and is cut.
    MaxTokens,
    /// A reason that is none of these, in the provider's word.
    Other(String),
    /// It wants to go on; the conversation is to be sent again as it is.
    Pause,
    /// It, or a filter in front of it, refused for the content.
    Refusal,
    /// It met a stop sequence.
    StopSequence,
    /// It waits for tool results.
    ToolUse,
}

/// The snake case name, or the provider's own word.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextWindow => "context_window",
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::Other(word) => word,
            Self::Pause => "pause",
            Self::Refusal => "refusal",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
        })
    }
}

/// Reads what `Display` writes; a word that is none of ours is [`StopReason::Other`].
impl FromStr for StopReason {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "context_window" => Self::ContextWindow,
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "pause" => Self::Pause,
            "refusal" => Self::Refusal,
            "stop_sequence" => Self::StopSequence,
            "tool_use" => Self::ToolUse,
            other => Self::Other(other.to_owned()),
        })
    }
}
