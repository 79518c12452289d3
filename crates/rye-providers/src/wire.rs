//! The interface of all protocols, and their errors.

use std::collections::BTreeSet;

use rye_thread::{DeltaSink, Reply, Request};

use crate::ModelChoice;
use crate::protocol::Delivery;
use crate::refusal::Refusal;

/// The reason why a request cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An answer in the history has the format of another protocol.
    #[error(
        "message {index} of the conversation was given by a provider with another format; begin a new thread"
    )]
    Foreign {
        /// The index of the message, counted from 0.
        index: usize,
    },
    /// A value of the conversation cannot be written as JSON.
    #[error("cannot write the request as JSON")]
    Json(#[source] serde_json::Error),
}

/// The reason why bytes are not an answer of a protocol.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not JSON, or not the JSON of an answer.
    #[error("the response is no answer in the format `{format}`")]
    Shape {
        /// The protocol.
        format: &'static str,
        /// The problem of the JSON.
        source: serde_json::Error,
    },
    /// The bytes are not UTF-8, which JSON must be (RFC 8259, section 8.1).
    #[error("the response is not UTF-8")]
    Encoding {
        /// The place of the first invalid byte.
        source: std::str::Utf8Error,
    },
    /// A part of the answer is not valid for its type.
    #[error("part {index} of the answer is not valid: {reason}")]
    Part {
        /// The index of the part, counted from 0.
        index: usize,
        /// The problem of the part.
        reason: &'static str,
    },
    /// A part with a vendor's signature has half of a character. It can be neither mended nor sent back.
    #[error(
        "part {index} of the answer is signed and has half of a character, so it cannot be sent back"
    )]
    Damaged {
        /// The index of the part, counted from 0.
        index: usize,
    },
    /// The response contains no answer.
    #[error("the response holds no answer")]
    Empty,
    /// An event does not fit the events before it.
    #[error(
        "the stream is out of order: {reason}; with `stream: false` in its file the provider answers in one piece"
    )]
    Order {
        /// The problem of the event.
        reason: &'static str,
    },
    /// The stream ended before the answer was complete.
    #[error("the stream ended before the answer was whole")]
    Unfinished,
    /// The stream or one of its events is longer than the limit.
    #[error("the stream has more than {maximum} bytes, which are not read")]
    TooLarge {
        /// The limit in bytes.
        maximum: usize,
    },
}

/// The functions of a protocol.
pub(crate) struct Wire {
    /// Returns the path below `base_url` for a model.
    pub(crate) path: fn(&str, Delivery) -> String,
    /// The headers of the protocol. Headers of the config override them.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) encode: fn(&Request, &ModelChoice, Delivery) -> Result<String, EncodeError>,
    pub(crate) decode: fn(&[u8]) -> Result<Reply, DecodeError>,
    pub(crate) assembler: fn() -> Box<dyn Assemble>,
    /// Reads the body of an error, given the status; `None` if it is not an error of the protocol.
    pub(crate) read_error: fn(u16, &[u8]) -> Option<Refusal>,
}

/// Returns the text of a response. This checks that all bytes are UTF-8, because parsing would not check
/// skipped members.
pub(crate) fn text(body: &[u8]) -> Result<&str, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|source| DecodeError::Encoding { source })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The reason why a stream gave no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream is not an answer of the protocol, or not a complete one.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The provider sent an error in the stream.
    #[error("the provider ended the stream with an error: {}", .0.message)]
    Refused(Refusal),
}

/// The error of an event that does not belong at its place in the stream.
pub(crate) fn order(reason: &'static str) -> StreamError {
    StreamError::Decode(DecodeError::Order { reason })
}

/// The assembler of a protocol's events.
pub(crate) trait Assemble: Send {
    /// Reads the data of an event. Returns the progress, and the largest number of its bytes that are kept.
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError>;

    /// Learns that HTTP marked the end of the stream, so that no event is missing.
    fn close(&mut self) {}

    /// Returns the reply, once there are no more events.
    fn finish(self: Box<Self>) -> Result<Reply, DecodeError>;
}

/// The state of an answer after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    More,
}

/// Returns the parts of an answer in the order of their places. Where a place is missing or comes again, the parts stay
/// in the order in which they began.
pub(crate) fn in_places<T>(mut parts: Vec<T>, place: impl Fn(&T) -> Option<u64>) -> Vec<T> {
    let places: BTreeSet<u64> = parts.iter().filter_map(&place).collect();
    if places.len() == parts.len() {
        parts.sort_by_key(place);
    }
    parts
}
