//! A response's body, in one piece or as it comes.

use std::error::Error;
use std::time::Duration;

use reqwest::Response;
use rye_thread::{DeltaSink, ProviderErrorClass, Reply};
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use super::hints::Hints;
use super::report::Reporter;
use super::retry::{Failed, Reached};
use crate::Protocol;
use crate::stream::StreamDecoder;

/// The most bytes of a response in one piece that are read.
const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// How long a response may take.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// From connecting to the last byte.
    whole: Duration,
    /// Between two pieces of a stream.
    idle: Duration,
    /// When all of it is used up.
    deadline: Instant,
}

impl Patience {
    /// It is counted from now on.
    pub(super) fn from_now(whole: Duration, idle: Duration) -> Self {
        Self { whole, idle, deadline: Instant::now() + whole }
    }

    /// Waits for the work while there is time.
    pub(super) async fn bear<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        match timeout_at(self.deadline, work).await {
            Ok(done) => done.map_err(|error| broken(error, reporter)),
            Err(_) => {
                Err(Failure::unanswered(ProviderErrorClass::Timeout, reporter.late(self.whole)))
            }
        }
    }

    /// Waits for a piece of a stream, which may not be silent for long.
    async fn bear_piece<T>(
        self,
        reporter: &Reporter,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Failure> {
        let silence = Instant::now() + self.idle;
        match timeout_at(silence, self.bear(reporter, work)).await {
            Ok(done) => done,
            Err(_) => {
                Err(Failure::unanswered(ProviderErrorClass::Timeout, reporter.silent(self.idle)))
            }
        }
    }
}

/// Whether the response is a stream of events, whatever was asked for.
pub(super) fn is_stream(response: &Response) -> bool {
    content_type(response).starts_with("text/event-stream")
}

pub(super) fn content_type(response: &Response) -> String {
    let value = response.headers().get(reqwest::header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok()).unwrap_or("no content type");
    value.to_ascii_lowercase()
}

/// Reads a response to its end.
pub(super) async fn whole(
    mut response: Response,
    patience: Patience,
    reporter: &Reporter,
) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = patience.bear(reporter, response.chunk()).await? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            let message = reporter.too_large(MAX_RESPONSE_BYTES);
            return Err(Failure::unanswered(ProviderErrorClass::Server, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads a stream until its answer is whole; a server that then leaves the connection open is not waited for.
pub(super) async fn streamed(
    mut response: Response,
    protocol: Protocol,
    patience: Patience,
    reporter: &Reporter,
    deltas: &dyn DeltaSink,
) -> Result<Reply, Failure> {
    let mut decoder = StreamDecoder::new(protocol);
    while !decoder.is_done() {
        let Some(chunk) = patience.bear_piece(reporter, response.chunk()).await? else { break };
        decoder
            .feed(&chunk, deltas)
            .map_err(|error| Failure::of_stream(error, decoder.has_begun(), reporter))?;
    }
    decoder.finish().map_err(|error| Failure::of_stream(error, true, reporter))
}

/// A gateway's or a wrong address's page is told apart before a decoder is puzzled by it.
pub(super) fn refuse_page(
    status: u16,
    body: &[u8],
    content_type: &str,
    reporter: &Reporter,
) -> Result<(), Failure> {
    if body.trim_ascii_start().starts_with(b"{") {
        return Ok(());
    }
    let (reached, hints) = (Reached::Status(status), Hints::default());
    let failed = Failed { class: ProviderErrorClass::Server, reached, hints };
    Err(Failure::new(failed, reporter.not_json(content_type)))
}

fn broken(error: reqwest::Error, reporter: &Reporter) -> Failure {
    let failure = if error.is_connect() {
        let (class, reached) = (ProviderErrorClass::Network, Reached::Nobody);
        Failure::new(Failed { class, reached, hints: Hints::default() }, reporter.unreachable())
    } else {
        Failure::unanswered(ProviderErrorClass::Network, reporter.broken())
    };
    failure.because(reporter.shown(&innermost(&error.without_url())).into())
}

/// What happened, without the layers of the client that it came up through.
fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

#[cfg(test)]
mod tests;
