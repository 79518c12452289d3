//! Requests and responses in the format of a protocol, without I/O.

use rye_thread::{Reply, Request};

use crate::protocol::{Delivery, Protocol};
use crate::wire::{DecodeError, EncodeError, Wire};
use crate::{ModelChoice, anthropic, gemini, openai_chat, openai_responses};

impl Protocol {
    pub(crate) fn wire(self) -> &'static Wire {
        match self {
            Self::AnthropicMessages => &anthropic::WIRE,
            Self::Gemini => &gemini::WIRE,
            Self::OpenAiChat => &openai_chat::WIRE,
            Self::OpenAiResponses => &openai_responses::WIRE,
        }
    }
}

/// Returns the exact body that a provider of this protocol sends for `request`. Nothing is sent, and no key
/// is needed.
///
/// Equal requests give equal bytes. Tools are sorted by name. Between two answers, all tool results come
/// before any text of the user. Answers are sent back as they were received.
///
/// # Errors
///
/// [`EncodeError`] if the conversation cannot be encoded in this protocol.
pub fn body(
    protocol: Protocol,
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    (protocol.wire().encode)(request, choice, delivery)
}

/// Reads a whole response of this protocol. The answer is kept as received, including unknown members.
///
/// A call without an id gets one of the form `rye_call_0`.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response, because its content and its cost would be a guess.
pub fn decode(protocol: Protocol, body: &[u8]) -> Result<Reply, DecodeError> {
    (protocol.wire().decode)(body)
}
