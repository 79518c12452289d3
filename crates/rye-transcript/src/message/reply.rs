//! The reply of a model: the received bytes, and the parsed view of them.

use rye_types::Usage;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use strum::{Display, EnumString};

use super::depth::{MAX_DEPTH, nests_too_deep};

/// A reply of a model.
///
/// The fields are a view. [`Reply::raw`] is authoritative and is sent back (WIRES 1.0).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Reply {
    #[serde(deserialize_with = "read_on_one_line")]
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    raw: Box<RawValue>,
    /// The text blocks, joined.
    pub text: String,
    /// The readable reasoning, joined.
    pub reasoning: String,
    /// The tool calls in the order of the reply.
    pub calls: Vec<ToolCall>,
    /// The token usage of the request.
    pub usage: Usage,
    /// The source of `usage`. Without a provider's whole count, the driver takes the worst case, or what is counted if it is more.
    #[serde(default, skip_serializing_if = "Counted::is_by_provider")]
    pub counted: Counted,
    /// The reason why the model stopped.
    #[serde(with = "crate::json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub stop: StopReason,
}

impl Reply {
    /// Creates a reply with this content and empty fields.
    ///
    /// The content is kept byte for byte, except that line ends between JSON tokens become spaces. A record of the
    /// transcript is one line, and JSON strings hold no raw line ends.
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

    /// Returns `true` if the reply has neither text nor calls.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }

    /// Replaces the content, such as by one in which the provider mended what it could not send again.
    #[must_use]
    pub fn with_raw(self, raw: Box<RawValue>) -> Self {
        Self { raw: on_one_line(raw), ..self }
    }

    /// Returns the assistant content for the provider to send again: as received, or as the provider mended it.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

/// Replaces line ends by spaces. JSON strings hold no raw line ends, so every line end is between tokens.
fn on_one_line(raw: Box<RawValue>) -> Box<RawValue> {
    if !raw.get().contains(['\n', '\r']) {
        return raw;
    }
    let line = raw.get().replace(['\n', '\r'], " ");
    RawValue::from_string(line).unwrap_or(raw)
}

fn read_on_one_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::deserialize(deserializer).map(on_one_line)
}

/// The source of the token count of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the provider counted or it did not")]
pub enum Counted {
    /// The provider counted.
    #[default]
    ByProvider,
    /// The provider replied without a count, or left out a part of it.
    Unreported,
}

impl Counted {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    const fn is_by_provider(&self) -> bool {
        matches!(self, Self::ByProvider)
    }
}

/// One tool call of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's id of the call, or a generated id if the provider has none.
    pub id: String,
    /// The palette name of the tool.
    pub name: String,
    /// The arguments, or the reason why they cannot be read.
    #[serde(with = "arguments")]
    #[cfg_attr(feature = "schema", schemars(with = "arguments::Form<'_>"))]
    pub arguments: Result<Value, String>,
}

/// The arguments of a call, as `{"read": …}`, or as `{"unreadable": …}` with the reason.
mod arguments {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub(super) enum Form<'a> {
        Read(Cow<'a, Value>),
        Unreadable(Cow<'a, str>),
    }

    pub(super) fn serialize<S: Serializer>(
        arguments: &Result<Value, String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let form = match arguments {
            Ok(value) => Form::Read(Cow::Borrowed(value)),
            Err(reason) => Form::Unreadable(Cow::Borrowed(reason)),
        };
        form.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<Value, String>, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Read(value) => Ok(value.into_owned()),
            Form::Unreadable(reason) => Err(reason.into_owned()),
        })
    }
}

impl ToolCall {
    /// Creates a call with parsed arguments.
    ///
    /// Arguments that are nested deeper than 64 levels make the call [unreadable](Self::unreadable). Otherwise its
    /// record could not be read again.
    #[must_use]
    pub fn new(id: &str, name: &str, arguments: Value) -> Self {
        if nests_too_deep(&arguments) {
            return Self::unreadable(id, name, &too_deep());
        }
        Self { id: id.to_owned(), name: name.to_owned(), arguments: Ok(arguments) }
    }

    /// Returns `true` if the arguments are JSON and nested too deep to be kept.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.arguments.as_ref().is_err_and(|reason| *reason == too_deep())
    }

    /// Creates a call whose arguments cannot be read, for this reason.
    #[must_use]
    pub fn unreadable(id: &str, name: &str, reason: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), arguments: Err(reason.to_owned()) }
    }
}

fn too_deep() -> String {
    format!("the arguments are nested deeper than {MAX_DEPTH} levels")
}

/// The reason why a model stopped.
///
/// `Display` writes the snake case name, or the provider's own word. `FromStr` reads it back: an unknown word becomes
/// [`StopReason::Other`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[derive(Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum StopReason {
    /// The conversation no longer fits the model's context window.
    ContextWindow,
    /// The reply is complete.
    EndTurn,
    /// The reply reached its maximum number of tokens and is cut off.
    MaxTokens,
    /// Any other reason, in the provider's word.
    #[strum(default)]
    Other(String),
    /// The model paused. The conversation must be sent again as it is.
    Pause,
    /// The model, or a filter in front of it, refused because of the content.
    Refusal,
    /// The reply reached a stop sequence.
    StopSequence,
    /// The model waits for tool results.
    ToolUse,
}
