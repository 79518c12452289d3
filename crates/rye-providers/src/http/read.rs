//! Bodies of responses, read whole or as a stream.

use std::error::Error;
use std::time::Duration;

use reqwest::Response;
use rye_thread::{Counted, DeltaSink, ProviderErrorClass, Reply};
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use super::guard::{self, Guard};
use super::hints::Hints;
use super::memory::{AnswerMemory, Room, TooLong};
use super::report::Reporter;
use super::retry::Reached;
use crate::Protocol;
use crate::stream::StreamDecoder;

/// The time limits of a response.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// The longest time between two pieces of a stream.
    idle: Duration,
    /// The end of the whole time.
    deadline: Instant,
    limit: Limit,
}

/// A time limit with its key in the configuration.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) setting: &'static str,
    pub(super) value: Duration,
}

impl Patience {
    /// Sets the limits from now on. `whole` is the time from connecting to the last byte, and `limit` is the
    /// setting that it comes from.
    pub(super) fn from_now(whole: Duration, idle: Duration, limit: Limit) -> Self {
        Self { idle, deadline: Instant::now() + whole, limit }
    }

    /// The time that is left.
    #[cfg(test)]
    pub(super) fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits for the work until the deadline.
    pub(super) async fn wait<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        // The timer alone never stops work that is always ready, so a server could send without end.
        let is_late = self.deadline <= Instant::now();
        match timeout_at(self.deadline, work).await {
            Ok(done) if !is_late => done.map_err(|error| transport_failure(error, reporter)),
            _ => {
                let message = reporter.late(self.limit.value, self.limit.setting);
                Err(Failure::without_answer(ProviderErrorClass::Timeout, message))
            }
        }
    }

    /// Waits for room for an answer, before anything is sent.
    pub(super) async fn admit<'m>(
        self,
        reporter: &Reporter,
        memory: &'m AnswerMemory,
        maximum: usize,
    ) -> Result<Room<'m>, Failure> {
        let admitted = timeout_at(self.deadline, memory.admit(maximum)).await;
        admitted.map_err(|_| {
            let message = reporter.memory_full(self.limit.value, self.limit.setting);
            Failure::at(Reached::NotConnected, ProviderErrorClass::Timeout, message)
        })
    }

    /// Waits for room for this many bytes.
    async fn wait_for_room(
        self,
        reporter: &Reporter,
        room: &mut Room<'_>,
        bytes: usize,
    ) -> Result<(), Failure> {
        match timeout_at(self.deadline, room.hold(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(TooLong { maximum })) => {
                let message = reporter.too_large(maximum);
                Err(Failure::without_answer(ProviderErrorClass::Server, message))
            }
            Err(_) => {
                let message = reporter.memory_full(self.limit.value, self.limit.setting);
                Err(Failure::without_answer(ProviderErrorClass::Timeout, message))
            }
        }
    }

    /// Waits for a piece of a stream, at most for the idle time.
    async fn wait_for_piece<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        let silence = Instant::now() + self.idle;
        match timeout_at(silence, self.wait(reporter, work)).await {
            Ok(done) => done,
            Err(_) => Err(Failure::without_answer(
                ProviderErrorClass::Timeout,
                reporter.silent(self.idle),
            )),
        }
    }
}

/// Returns `true` if the response is a stream of events.
pub(super) fn is_stream(response: &Response) -> bool {
    content_type(response).to_ascii_lowercase().starts_with("text/event-stream")
}

pub(super) fn content_type(response: &Response) -> String {
    let value = response.headers().get(reqwest::header::CONTENT_TYPE);
    value.and_then(|value| value.to_str().ok()).unwrap_or("no content type").to_owned()
}

/// Reads a response to its end.
pub(super) async fn read_whole(
    mut response: Response,
    patience: Patience,
    reporter: &Reporter,
    room: &mut Room<'_>,
) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = patience.wait(reporter, response.chunk()).await? {
        patience.wait_for_room(reporter, room, body.len() + chunk.len()).await?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads a stream until its answer is complete. The end of the connection is not awaited.
pub(super) async fn read_stream(
    mut response: Response,
    protocol: Protocol,
    patience: Patience,
    reporter: &Reporter,
    room: &mut Room<'_>,
    deltas: &dyn DeltaSink,
) -> Result<Reply, Failure> {
    let status = response.status().as_u16();
    let hints = Hints::of(response.headers());
    let mut decoder = StreamDecoder::with_maximum(protocol, room.maximum());
    let mut head = Vec::new();
    let guard = Guard::new(reporter.secret(), deltas);
    while !decoder.is_done() {
        let Some(chunk) = patience.wait_for_piece(reporter, response.chunk()).await? else { break };
        // The decoder refuses answers that are too long. A piece may contain much that is not kept.
        let held = (decoder.held() + chunk.len()).min(room.maximum());
        patience.wait_for_room(reporter, room, held).await?;
        decoder
            .feed(&chunk, &guard)
            .map_err(|error| Failure::of_stream(error, decoder.has_begun(), reporter))?;
        if !decoder.has_begun() && head.len() < MAX_HEAD_BYTES {
            head.extend_from_slice(&chunk);
        }
    }
    // Some servers send an error as plain JSON under the content type of a stream.
    let refusal = (protocol.wire().read_error)(status, &head).filter(|_| !decoder.has_begun());
    if let Some(refusal) = refusal {
        return Err(Failure::from_refusal(status, hints, Some(&refusal), reporter));
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

/// The largest error that is read from a stream without events.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Refuses a body that is not JSON, such as the page of a gateway, with a clearer message than a decoder
/// gives.
pub(super) fn refuse_page(
    status: u16,
    body: &[u8],
    content_type: &str,
    reporter: &Reporter,
) -> Result<(), Failure> {
    if body.trim_ascii_start().starts_with(b"{") {
        return Ok(());
    }
    let message = reporter.not_json(content_type);
    Err(Failure::at(Reached::Status(status), ProviderErrorClass::Server, message))
}

fn transport_failure(error: reqwest::Error, reporter: &Reporter) -> Failure {
    let failure = if error.is_connect() {
        let message = reporter.unreachable();
        Failure::at(Reached::NotConnected, ProviderErrorClass::Network, message)
    } else {
        Failure::without_answer(ProviderErrorClass::Network, reporter.broken_connection())
    };
    failure.because(reporter.redact(&innermost(&error.without_url())).into())
}

/// Returns the innermost cause, without the messages of the HTTP client's layers.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

#[cfg(test)]
mod tests;
