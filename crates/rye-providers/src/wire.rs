//! What the protocols have in common: what each must be able to do, and how each can fail.

use rye_thread::{Reply, Request};

use crate::http::Refusal;
use crate::stream::Assemble;
use crate::{ModelChoice, Protocol};

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer comes in pieces or it does not")]
pub enum Delivery {
    /// In pieces, as server-sent events.
    Streamed,
    /// In one piece.
    Whole,
}

/// Why a request cannot be put in a protocol's form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An answer in the history is not of this protocol, so another protocol's provider gave it.
    #[error(
        "message {index} of the conversation was given by a provider with another format; begin a new thread"
    )]
    Foreign {
        /// The message's place, counted from 0.
        index: usize,
    },
    /// A value of the conversation has no JSON.
    #[error("cannot write the request as JSON")]
    Json(#[source] serde_json::Error),
}

/// Why bytes are no answer of a protocol.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Not JSON, or not the JSON of an answer.
    #[error("the response is no answer in the format `{format}`")]
    Shape {
        /// The protocol.
        format: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Not UTF-8, which JSON always is (RFC 8259, section 8.1).
    #[error("the response is not UTF-8")]
    Encoding {
        /// Where it stops being UTF-8.
        source: std::str::Utf8Error,
    },
    /// A part of the answer that cannot be what it says it is.
    #[error("part {index} of the answer is not valid: {reason}")]
    Part {
        /// The part's place, counted from 0.
        index: usize,
        /// What it lacks.
        reason: &'static str,
    },
    /// A response without any answer in it.
    #[error("the response holds no answer")]
    Empty,
    /// An event that does not fit the ones before it.
    #[error("the stream is out of order: {reason}")]
    Order {
        /// What does not fit.
        reason: &'static str,
    },
    /// A stream that ended without the event that closes an answer.
    #[error("the stream ended before the answer was whole")]
    Unfinished,
    /// A stream that is longer than any answer, or holds such an event.
    #[error("the stream has more than {maximum} bytes, which are not read")]
    TooLarge {
        /// The most bytes that are read.
        maximum: usize,
    },
}

/// One protocol as a row of functions.
pub(crate) struct Wire {
    /// The path below `base_url`, for a model.
    pub(crate) path: fn(&str, Delivery) -> String,
    /// The protocol's own headers, which the config's replace.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) encode: fn(&Request, &ModelChoice, Delivery) -> Result<String, EncodeError>,
    pub(crate) decode: fn(&[u8]) -> Result<Reply, DecodeError>,
    pub(crate) assembler: fn() -> Box<dyn Assemble>,
    /// Reads an error's body, given the status; nothing for what is no error of the protocol.
    pub(crate) read_error: fn(u16, &[u8]) -> Option<Refusal>,
}

/// The exact body that a provider of this protocol sends for `request`; nothing is sent, and no key is needed.
///
/// Equal requests give equal bytes. Tools are sorted by name. Everything between two answers is the user's side, with all
/// tool results first, before any text. Answers are sent back as they were received.
///
/// # Errors
///
/// [`EncodeError`] when the conversation cannot be put into the protocol's form.
pub fn body(
    protocol: Protocol,
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    (protocol.wire().encode)(request, choice, delivery)
}

/// Reads a whole response of this protocol; its answer is kept as received, with whatever is unknown in it.
///
/// A call that came without an id has one made by us, of the form `rye_call_0`.
///
/// # Errors
///
/// [`DecodeError`] when the bytes are no such response; what it says and costs would be a guess then.
pub fn decode(protocol: Protocol, body: &[u8]) -> Result<Reply, DecodeError> {
    (protocol.wire().decode)(body)
}

/// The text of a response; members that are passed over would else be read whatever their bytes.
pub(crate) fn text(body: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(body).map_err(|source| DecodeError::Encoding { source })
}
