//! Slow and silent streams, with a paused clock.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use rye_thread::ProviderError;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use super::*;
use crate::ProviderConfig;
use crate::http::DEFAULT_ANSWER_BYTES;
use crate::http::memory::PROCESS;
use crate::http::patience::Limit;

mod bounds;

/// A body that gets its pieces from a channel.
struct Pieces(UnboundedReceiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

const ANSWER: &str = concat!(
    r#"data: {"choices":[{"delta":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
    "\n\ndata: [DONE]\n\n",
);

/// Reads the answer from a server that takes `per_byte` for each byte and never sends the last `held_back`
/// bytes.
async fn read(per_byte: Duration, held_back: usize) -> Result<String, ProviderError> {
    let (sender, receiver) = unbounded_channel();
    let server = tokio::spawn(async move {
        for byte in ANSWER.as_bytes().iter().take(ANSWER.len() - held_back) {
            tokio::time::sleep(per_byte).await;
            let _given_up = sender.send(Bytes::copy_from_slice(&[*byte]));
        }
        // The connection stays open.
        std::future::pending::<()>().await;
        drop(sender);
    });
    let config = ProviderConfig::from_value(&json!({
        "name": "vendor", "protocol": "openai_chat", "base_url": "http://localhost:1",
        "models": { "m": { "context_window": 10, "max_output": 10 } },
    }))
    .unwrap();
    let reporter = Reporter::new(&config, None);
    let response = http::Response::new(reqwest::Body::wrap(Pieces(receiver)));
    let response = Body::of(reqwest::Response::from(response));
    let patience = {
        let limit = Limit { setting: "timeout_seconds", value: Duration::from_secs(600) };
        Patience::from_now(limit.value, Duration::from_secs(60), limit)
    };
    let mut room = PROCESS.admit(DEFAULT_ANSWER_BYTES).await;
    let read =
        read_stream(response, Protocol::OpenAiChat, patience, &reporter, &mut room, &()).await;
    server.abort();
    read.map(|reply| reply.text).map_err(|failure| failure.into_error(None))
}

#[track_caller]
fn check(read: Result<String, ProviderError>, class: ProviderErrorClass, message: &str) {
    let error = read.unwrap_err();
    assert_eq!((error.class, error.to_string().as_str()), (class, message));
    assert!(error.may_have_cost());
}

#[tokio::test(start_paused = true)]
async fn a_slow_stream_is_waited_for_and_an_open_end_is_not() {
    assert_eq!(read(Duration::from_secs(2), 0).await.unwrap(), "Hello.");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_given_up() {
    let message = "`vendor` sent nothing for 60s in the middle of its answer; raise `idle_seconds` if it may be silent for longer";
    check(read(Duration::ZERO, 1).await, ProviderErrorClass::Timeout, message);
    check(read(Duration::ZERO, ANSWER.len()).await, ProviderErrorClass::Timeout, message);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_drips_for_too_long_is_given_up() {
    let message =
        "`vendor` gave no whole answer within 600s; raise `timeout_seconds` if it may take longer";
    let began = Instant::now();
    check(read(Duration::from_secs(59), 0).await, ProviderErrorClass::Timeout, message);
    assert_eq!(began.elapsed(), Duration::from_secs(600));
}
