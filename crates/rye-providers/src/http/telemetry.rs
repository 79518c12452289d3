//! The span of an attempt, after OpenTelemetry's HTTP conventions, without headers, keys or bodies.

use std::time::Duration;

use tracing::field::Empty;
use tracing::{Span, info, info_span};

use super::failure::Failure;
use super::retry::Reached;

/// Makes the span of a POST. `attempts` includes this one. The URL holds no key, because the config refuses
/// such a URL.
pub(super) fn attempt(
    url: &str,
    server: Option<&rye_thread::ServerAddress>,
    attempts: u32,
) -> Span {
    let span = info_span!(
        "POST",
        otel.kind = "client",
        otel.status_code = Empty,
        http.request.method = "POST",
        http.request.resend_count = Empty,
        http.response.status_code = Empty,
        server.address = server.map(|server| server.host.as_str()),
        server.port = server.map(|server| i64::from(server.port)),
        url.full = url,
        error.type = Empty,
    );
    if attempts > 1 {
        span.record("http.request.resend_count", i64::from(attempts - 1));
    }
    span
}

/// Records the status of a response.
pub(super) fn record_status(span: &Span, status: u16) {
    span.record("http.response.status_code", i64::from(status));
}

/// Records a failure: the status if it is an error, else the class of the failure.
pub(super) fn record_failure(span: &Span, failure: &Failure) {
    match failure.failed.reached {
        Reached::Status(status) if status >= 400 => span.record("error.type", status.to_string()),
        _ => span.record("error.type", failure.failed.class.as_str()),
    };
    span.record("otel.status_code", "ERROR");
}

/// Records that another attempt follows.
pub(super) fn record_wait(attempts: u32, wait: Duration, failure: &Failure) {
    info!(
        error.type = failure.failed.class.as_str(),
        http.request.resend_count = i64::from(attempts),
        wait_seconds = wait.as_secs_f64(),
        "the request is sent again"
    );
}
