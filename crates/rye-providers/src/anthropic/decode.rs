//! The decoder of whole responses.

use rye_thread::Reply;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{reply, shape};
use crate::usage::{AnthropicCount, Reported};
use crate::wire::{DecodeError, text};

/// Reads a whole response. Its content is kept as received, including blocks of unknown types.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response. A response without a count of tokens gives a reply
/// marked as not counted.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response<'_> = serde_json::from_str(text(body)?).map_err(shape)?;
    reply(response.content, response.stop_reason.as_deref(), response.usage.as_ref())
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    stop_reason: Option<String>,
    usage: Option<Reported<AnthropicCount>>,
}
