//! The bytes of a response as a reply.

use rye_thread::Reply;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{reply, shape};
use crate::usage::AnthropicCount;
use crate::wire::{DecodeError, text};

/// Reads a whole response; its content is kept as received, and blocks of unknown types with it.
///
/// # Errors
///
/// [`DecodeError`] when the bytes are no such response; use and cost would be a guess then.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response<'_> = serde_json::from_str(text(body)?).map_err(shape)?;
    reply(response.content, &response.stop_reason, &response.usage)
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    stop_reason: String,
    usage: AnthropicCount,
}
