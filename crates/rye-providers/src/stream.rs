//! An answer that comes in pieces, put together.

use rye_thread::{DeltaSink, Reply};

use crate::Protocol;
use crate::http::{DEFAULT_ANSWER_BYTES, Refusal};
use crate::sse::EventReader;
use crate::wire::DecodeError;

/// Puts together what comes as server-sent events; the result is what the same answer in one piece would be read as.
///
/// ```
/// use rye_providers::{Protocol, StreamDecoder};
///
/// let mut decoder = StreamDecoder::new(Protocol::OpenAiChat);
/// let events = concat!(
///     r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}"#, "\n\n",
///     r#"data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}"#, "\n\n",
///     "data: [DONE]\n\n",
/// );
/// decoder.feed(events.as_bytes(), &())?;
/// assert!(decoder.is_done());
/// let reply = decoder.finish()?;
/// assert_eq!(reply.raw().get(), r#"{"role":"assistant","content":"Hello."}"#);
/// # Ok::<(), rye_providers::StreamError>(())
/// ```
pub struct StreamDecoder {
    events: EventReader,
    assembler: Box<dyn Assemble>,
    /// The most bytes of the answer that are kept.
    maximum: usize,
    /// The bytes of the answer that are kept.
    kept: usize,
    /// The bytes of the stream that may still come.
    left: usize,
    has_begun: bool,
    is_done: bool,
}

impl StreamDecoder {
    /// Creates a decoder for an answer of this protocol of at most 32 MiB.
    pub fn new(protocol: Protocol) -> Self {
        Self::with_maximum(protocol, DEFAULT_ANSWER_BYTES)
    }

    /// Creates a decoder that keeps at most `maximum` bytes: the answer so far, and the event that is under way.
    pub fn with_maximum(protocol: Protocol, maximum: usize) -> Self {
        Self {
            events: EventReader::new(maximum),
            assembler: (protocol.wire().assembler)(),
            maximum,
            kept: 0,
            left: maximum.saturating_mul(STREAM_BYTES_OF_AN_ANSWER_BYTE),
            has_begun: false,
            is_done: false,
        }
    }

    /// Takes more bytes, split anywhere, and tells `deltas` of what the model says in them.
    ///
    /// What comes behind the end of the answer is passed over.
    ///
    /// # Errors
    ///
    /// [`StreamError`] once the stream is refused, malformed or too long; it is of no use after that.
    pub fn feed(&mut self, mut bytes: &[u8], deltas: &dyn DeltaSink) -> Result<(), StreamError> {
        let too_large = || DecodeError::TooLarge { maximum: self.maximum };
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
        while !self.is_done && !bytes.is_empty() {
            let (rest, data) = self.events.feed(bytes)?;
            bytes = rest;
            let Some(data) = data else { continue };
            let (progress, kept) = self.assembler.event(&data, deltas)?;
            self.kept = self.kept.saturating_add(kept);
            if self.maximum < self.kept {
                return Err(DecodeError::TooLarge { maximum: self.maximum }.into());
            }
            self.is_done = progress == Progress::Done;
            self.has_begun = true;
        }
        Ok(())
    }

    /// The bytes that are kept of the answer, with the event that is under way.
    pub fn held(&self) -> usize {
        self.kept.saturating_add(self.events.held())
    }

    /// Whether the answer is whole, so that no more has to be read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether an event came, so that the answer may be charged.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The whole answer, at the end of the stream.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Unfinished`] when the stream ended early, and whatever a response in one piece can fail with.
    pub fn finish(self) -> Result<Reply, StreamError> {
        let reply = self.assembler.finish()?;
        // Text that needs escapes is longer in the record than it was on its way.
        if self.maximum < reply.raw().get().len() {
            return Err(DecodeError::TooLarge { maximum: self.maximum }.into());
        }
        Ok(reply)
    }
}

impl std::fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamDecoder")
            .field("has_begun", &self.has_begun)
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

/// Each token comes with some hundred bytes around it, of which nothing is kept.
const STREAM_BYTES_OF_AN_ANSWER_BYTE: usize = 16;

/// Why a stream gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// It is no answer of the protocol, or not a whole one.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The provider sent an error in it.
    #[error("the provider ended the stream with an error: {}", .0.message)]
    Refused(Refusal),
}

/// Puts the events of one protocol's stream together.
pub(crate) trait Assemble: Send {
    /// Takes the data of one event, and returns how many bytes of it are kept at most.
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError>;

    /// The answer, once no more events come.
    fn finish(self: Box<Self>) -> Result<Reply, DecodeError>;
}

/// Whether an event ended the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    More,
}
