//! Streamed answers, assembled from events.

use rye_thread::{DeltaSink, Reply};

use crate::Protocol;
use crate::http::DEFAULT_ANSWER_BYTES;
use crate::sse::EventReader;
use crate::wire::{Assemble, DecodeError, Progress, StreamError};

/// Assembles an answer from server-sent events. The reply equals that of the same answer in one piece.
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
    /// The largest number of bytes that are kept of the answer.
    maximum: usize,
    /// The number of bytes that are kept of the answer.
    kept: usize,
    /// The number of bytes that the stream may still have.
    left: usize,
    has_begun: bool,
    is_done: bool,
}

impl StreamDecoder {
    /// Creates a decoder for an answer of this protocol of at most 32 MiB.
    pub fn new(protocol: Protocol) -> Self {
        Self::with_maximum(protocol, DEFAULT_ANSWER_BYTES)
    }

    /// Creates a decoder that keeps at most `maximum` bytes of the answer and of the current event.
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

    /// Reads more bytes, which may be split anywhere, and sends the model's new text and calls to `deltas`.
    ///
    /// Bytes after the end of the answer are ignored.
    ///
    /// # Errors
    ///
    /// [`StreamError`] if the stream contains an error, is malformed or is too long. The decoder must not be
    /// used after that.
    pub fn feed(&mut self, mut bytes: &[u8], deltas: &dyn DeltaSink) -> Result<(), StreamError> {
        let too_large = || DecodeError::TooLarge { maximum: self.maximum };
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
        while !self.is_done && !bytes.is_empty() {
            let (rest, data) = self.events.feed(bytes)?;
            bytes = rest;
            if let Some(data) = data {
                self.event(&data, deltas)?;
            }
        }
        Ok(())
    }

    /// Reads an event. One without data keeps the connection open and says nothing.
    fn event(&mut self, data: &[u8], deltas: &dyn DeltaSink) -> Result<(), StreamError> {
        if data.trim_ascii().is_empty() {
            return Ok(());
        }
        let (progress, kept) = self.assembler.event(data, deltas)?;
        self.kept = self.kept.saturating_add(kept);
        if self.maximum < self.kept {
            return Err(DecodeError::TooLarge { maximum: self.maximum }.into());
        }
        self.is_done = progress == Progress::Done;
        self.has_begun = true;
        Ok(())
    }

    /// Reads the last event if the blank line behind it is missing, at the end of the bytes.
    ///
    /// If the end is [marked](Ending::Marked), the answer may also lack the last event of its protocol.
    ///
    /// # Errors
    ///
    /// [`StreamError`] if the event contains an error or is malformed. At an [open](Ending::Open) end, a malformed
    /// event is one that was cut, and not an error.
    pub fn end(&mut self, ending: Ending, deltas: &dyn DeltaSink) -> Result<(), StreamError> {
        let last = self.events.end().filter(|_| !self.is_done);
        let read = last.map_or(Ok(()), |data| self.event(&data, deltas));
        if ending == Ending::Marked {
            self.assembler.close();
        }
        match read {
            Err(StreamError::Decode(DecodeError::Shape { .. } | DecodeError::Encoding { .. }))
                if ending == Ending::Open =>
            {
                Ok(())
            }
            read => read,
        }
    }

    /// The number of bytes that are kept of the answer and of the current event.
    pub fn held(&self) -> usize {
        self.kept.saturating_add(self.events.held_bytes())
    }

    /// Returns `true` if the answer is complete, so that no more has to be read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns `true` if an event was read, so that the answer may be charged.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns the complete reply, at the end of the stream.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Unfinished`] if the stream ended early, and every error of a response in one piece.
    pub fn finish(mut self) -> Result<Reply, StreamError> {
        self.end(Ending::Open, &())?;
        let reply = self.assembler.finish()?;
        // Text with escapes can be longer in the record than in the stream.
        if self.maximum < reply.raw().get().len() {
            return Err(DecodeError::TooLarge { maximum: self.maximum }.into());
        }
        Ok(reply)
    }
}

/// The end of the bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the end is marked or it is not")]
pub enum Ending {
    /// HTTP marked the end, by the length of the body or by a last chunk. So nothing is missing.
    Marked,
    /// The connection ended, so the stream may have been cut.
    Open,
}

impl std::fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamDecoder")
            .field("has_begun", &self.has_begun)
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

/// The largest ratio of a stream's length to the length of its answer. Each token comes with some hundred
/// bytes that are not kept.
const STREAM_BYTES_OF_AN_ANSWER_BYTE: usize = 16;
