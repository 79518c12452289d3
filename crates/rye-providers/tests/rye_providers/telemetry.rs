//! Telemetry of requests: each attempt and each wait, and never the key.

use serde_json::json;

use crate::server::Answer;
use crate::spans::Spans;
use crate::vendor::{KEY, Vendor, error, hello, request};

/// Checks the span tree of a request to a server with these answers, without the port.
async fn check(answers: Vec<Answer>, expected: &[&str]) {
    let vendor = Vendor::answering(answers);
    let provider = vendor.provider(&vendor.config());
    let spans = Spans::here();
    drop(provider.complete(&request()).await);
    let tree = spans.tree();
    assert!(!tree.contains(KEY), "{tree}");
    assert!(!tree.contains("SECRET"), "{tree}");
    let port = vendor.server.port;
    let at = format!(
        "server.address=127.0.0.1 server.port={port} url.full=http://127.0.0.1:{port}/v1/messages"
    );
    let lines: Vec<String> = tree.lines().map(|line| line.replace(&at, "AT")).collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn attempts_and_waits() {
    let busy = error(529, "overloaded_error", "SECRET");
    let limited = error(429, "rate_limit_error", KEY).with("retry-after-ms", "2");
    check(
        vec![limited, busy, hello()],
        &[
            "POST: error.type=429 http.request.method=POST http.response.status_code=429 otel.kind=client \
             otel.status_code=ERROR AT",
            "- the request is sent again: error.type=rate_limited http.request.resend_count=1 wait_seconds=0.002",
            "POST: error.type=529 http.request.method=POST http.request.resend_count=1 http.response.status_code=529 \
             otel.kind=client otel.status_code=ERROR AT",
            "- the request is sent again: error.type=overloaded http.request.resend_count=2 wait_seconds=0.001",
            "POST: http.request.method=POST http.request.resend_count=2 http.response.status_code=200 \
             otel.kind=client AT",
        ],
    )
    .await;
}

/// A failure with a successful status is recorded by its class.
#[tokio::test]
async fn an_answer_that_cannot_be_read() {
    let page = Answer::new(200, "text/html", "SECRET");
    check(
        vec![page],
        &["POST: error.type=server http.request.method=POST http.response.status_code=200 otel.kind=client \
           otel.status_code=ERROR AT"],
    )
    .await;
}

#[tokio::test]
async fn a_provider_says_where_it_is() {
    let vendor = Vendor::answering(Vec::new());
    let mut config = vendor.config();
    config["stream"] = json!(false);
    let telemetry = vendor.provider(&config).telemetry();
    assert_eq!(telemetry.name, "vendor");
    let (host, port) = ("127.0.0.1".to_owned(), vendor.server.port);
    let server = rye_thread::ServerAddress { host, port };
    assert_eq!(telemetry.server, Some(server));
    assert!(!telemetry.is_streamed);
}
