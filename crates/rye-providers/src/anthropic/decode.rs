//! The decoder of whole responses.

use rye_thread::Reply;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{reply, shape};
use crate::usage::AnthropicCount;
use crate::wire::{DecodeError, text};

/// Reads a whole response. Its content is kept as received, including blocks of unknown types.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response, because its use and its cost would be a guess.
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
