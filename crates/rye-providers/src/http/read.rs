//! Bodies of responses, read whole or as a stream.

use rye_thread::{Counted, DeltaSink, ProviderErrorClass, Reply};

use super::body::Body;
use super::failure::Failure;
use super::guard::{self, Guard};
use super::memory::Room;
use super::patience::Patience;
use super::report::Reporter;
use super::retry::Reached;
use crate::Protocol;
use crate::stream::{Ending, StreamDecoder};

/// Reads a body to its end.
pub(super) async fn read_whole(
    mut body: Body,
    patience: Patience,
    reporter: &Reporter,
    room: &mut Room<'_>,
) -> Result<Vec<u8>, Failure> {
    let mut whole = Vec::new();
    while let Some(chunk) = patience.wait(reporter, body.chunk()).await? {
        patience.wait_for_room(reporter, room, whole.len() + chunk.len()).await?;
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// Reads a stream until its answer is complete. The end of the connection is not awaited.
pub(super) async fn read_stream(
    mut body: Body,
    protocol: Protocol,
    patience: Patience,
    reporter: &Reporter,
    room: &mut Room<'_>,
    deltas: &dyn DeltaSink,
) -> Result<Reply, Failure> {
    let mut decoder = StreamDecoder::with_maximum(protocol, room.maximum());
    let guard = Guard::new(reporter.secret(), deltas);
    let failed =
        |error, decoder: &StreamDecoder| Failure::of_stream(error, decoder.has_begun(), reporter);
    while !decoder.is_done() {
        let chunk = match patience.wait_for_piece(reporter, body.chunk()).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => {
                let ends = if body.has_marked_end() { Ending::Marked } else { Ending::Open };
                decoder.end(ends, &guard).map_err(|error| failed(error, &decoder))?;
                break;
            }
            // The connection may break behind the end of the answer.
            Err(failure) => match decoder.end(Ending::Open, &guard) {
                Ok(()) if failure.is_broken() && decoder.is_done() => break,
                _ => return Err(failure),
            },
        };
        // The decoder refuses answers that are too long. A piece may contain much that is not kept.
        let held = (decoder.held() + chunk.len()).min(room.maximum());
        patience.wait_for_room(reporter, room, held).await?;
        decoder.feed(&chunk, &guard).map_err(|error| failed(error, &decoder))?;
    }
    let reply = decoder.finish().map_err(|error| Failure::of_stream(error, true, reporter))?;
    guard.end();
    accept(reply, reporter)
}

/// Checks a reply before it is returned.
///
/// A reply that contains the key is an error, because replies are recorded and passed to tools.
///
/// A reply with content but a count of no output tokens is marked as not counted. It keeps its count of the input.
pub(super) fn accept(mut reply: Reply, reporter: &Reporter) -> Result<Reply, Failure> {
    let is_empty = reply.text.is_empty() && reply.reasoning.is_empty() && reply.calls.is_empty();
    if !is_empty && reply.usage.output == 0 {
        reply.counted = Counted::Unreported;
    }
    match reporter.secret() {
        Some(secret) if guard::repeats(&reply, secret) => {
            Err(Failure::without_answer(ProviderErrorClass::Server, reporter.repeated_key()))
        }
        _ => Ok(reply),
    }
}

/// Refuses a body that is not JSON, such as the page of a gateway, with a clearer message than a decoder
/// gives.
pub(super) fn refuse_page(
    status: u16,
    body: &[u8],
    content_type: &str,
    reporter: &Reporter,
) -> Result<(), Failure> {
    if body.trim_ascii_start().starts_with(b"{") || body.trim_ascii_start().starts_with(b"[") {
        return Ok(());
    }
    let message = reporter.not_json(content_type);
    Err(Failure::at(Reached::Status(status), ProviderErrorClass::Server, message))
}

#[cfg(test)]
mod tests;
