//! The decoder of whole responses.

use rye_thread::Reply;

use super::assemble;
use super::content::{Candidate, Response, refusal_word, reply, shape};
use crate::raw::raw;
use crate::wire::{DecodeError, text};

/// Reads a whole response. The content of its first candidate is kept as received. A list of chunks, as the
/// server sends a stream without `alt=sse`, is read like the stream.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response. A blocked prompt is not an error: it gives a reply
/// with the stop reason of a refusal.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let json = text(body)?;
    if json.trim_start().starts_with('[') {
        return assemble::of_chunks(json);
    }
    let response: Response = serde_json::from_str(json).map_err(shape)?;
    let block = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
    let candidate = response.candidates.0.into_iter().next();
    let (content, finish) = match candidate {
        Some(Candidate { content, finish_reason, .. }) => (content, finish_reason),
        None => (None, None),
    };
    // An answer in one piece has ended, even if it does not say why.
    let has_ended = || content.is_some().then(String::new);
    let finish = finish.or(block.map(refusal_word)).or_else(has_ended);
    let finish = finish.ok_or(DecodeError::Empty)?;
    let content =
        content.unwrap_or_else(|| raw(&serde_json::json!({ "role": "model", "parts": [] })));
    reply(&content, &finish, response.usage_metadata.as_ref())
}
