//! The patience of a provider: how long it waits for a busy server, by what the server asks for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rye_providers::{Protocol, Waits};
use rye_thread::ProviderErrorClass;
use serde_json::{Value, json};

use crate::server::Answer;
use crate::vendor::{Vendor, request};

/// A clock that moves on when somebody sleeps, at once.
#[derive(Default)]
struct Slept(Mutex<Vec<Duration>>);

impl Slept {
    fn seconds(&self) -> Vec<f64> {
        self.0.lock().unwrap().iter().map(Duration::as_secs_f64).collect()
    }
}

#[async_trait::async_trait]
impl Waits for Slept {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().iter().sum()
    }

    async fn sleep(&self, wait: Duration) {
        self.0.lock().unwrap().push(wait);
    }
}

/// What a busy server says, the waits in seconds that follow, and how it is told in the end.
struct Row {
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: fn(Protocol) -> Value,
    /// The time that the thread has left.
    left: u64,
    slept: &'static [f64],
    told: &'static str,
}

const LIMITED: Row = Row {
    status: 429,
    headers: &[],
    body: |protocol| busy(protocol, "slow down"),
    left: 600,
    slept: &[4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0],
    told: "; gave up after 8 attempts",
};

const OVERLOADED: &[f64] = &[2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0];
const SERVER: &[f64] = &[5.0, 10.0, 20.0, 30.0, 30.0, 30.0, 30.0];

/// The vendor's own form of the error.
fn busy(protocol: Protocol, message: &str) -> Value {
    match protocol {
        Protocol::AnthropicMessages => {
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": message } })
        }
        Protocol::Gemini => {
            json!({ "error": { "code": 429, "message": message, "status": "RESOURCE_EXHAUSTED" } })
        }
        _ => json!({ "error": { "message": message, "code": "rate_limit_exceeded" } }),
    }
}

const ROWS: &[Row] = &[
    LIMITED,
    Row { headers: &[("retry-after", "0")], ..LIMITED },
    Row {
        headers: &[("retry-after-ms", "1")],
        told: "; gave up after 8 attempts; it asked for a wait of 1 ms",
        ..LIMITED
    },
    Row {
        headers: &[("retry-after", "86400")],
        slept: &[],
        told: "; gave up after 1 attempt; it asked for a wait of 1 day",
        ..LIMITED
    },
    Row {
        headers: &[("x-ratelimit-reset-tokens", "25h0m0s")],
        slept: &[],
        told: "; gave up after 1 attempt; it asked for a wait of 1 day 1 h",
        ..LIMITED
    },
    Row {
        body: |protocol| busy(protocol, "Please retry in 34.5s."),
        left: 100,
        slept: &[34.5, 34.5],
        told: "; gave up after 3 attempts; it asked for a wait of 35 s",
        ..LIMITED
    },
    Row {
        body: |protocol| busy(protocol, "Please try again in 6m0s."),
        slept: &[360.0],
        told: "; gave up after 2 attempts; it asked for a wait of 6 min",
        ..LIMITED
    },
    Row { left: 20, slept: &[4.0, 8.0], told: "; gave up after 3 attempts", ..LIMITED },
    Row { status: 503, body: |_| json!({}), slept: OVERLOADED, ..LIMITED },
    Row { status: 529, body: |_| json!({}), slept: OVERLOADED, ..LIMITED },
    Row { status: 500, body: |_| json!({}), slept: SERVER, ..LIMITED },
    Row { status: 504, body: |_| json!({}), slept: SERVER, ..LIMITED },
];

/// Nobody sleeps, and no server is asked more often than it wants.
#[tokio::test]
async fn each_wait_is_at_least_the_own_one_and_at_least_what_is_asked_for() {
    for &protocol in Protocol::ALL {
        for is_streamed in [true, false] {
            for row in ROWS {
                let answer = Answer::json(row.status, (row.body)(protocol));
                let answer =
                    row.headers.iter().fold(answer, |it, (name, value)| it.with(name, value));
                let vendor = Vendor::answering(vec![answer]);
                let slept = Arc::new(Slept::default());
                let waits = Arc::clone(&slept) as Arc<dyn Waits>;
                let provider = vendor.patient_provider(protocol, is_streamed, waits);
                let mut request = request();
                request.patience = Some(Duration::from_secs(row.left));
                let error = provider.complete(&request).await.unwrap_err();
                assert_eq!(slept.seconds(), row.slept, "{error}");
                assert!(error.to_string().ends_with(row.told), "{error}");
                assert_eq!(vendor.received().len(), row.slept.len() + 1, "{error}");
            }
        }
    }
}

/// Gemini states waits in the details of an error, of which the longest counts.
#[tokio::test]
async fn geminis_details_ask_for_waits() {
    let retry = |wait: &str| json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait });
    let quota = |wait: &str| {
        let metadata = json!({ "quotaResetDelay": wait });
        json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "metadata": metadata })
    };
    for (details, asked) in [
        (json!([retry("86400s")]), "1 day"),
        (json!([quota("15h2m6.5s"), retry("2s")]), "15 h 2 min"),
        (json!([retry("2s"), quota("15h2m6.5s")]), "15 h 2 min"),
    ] {
        let error = json!({ "code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details });
        for body in [json!({ "error": error }), json!([{ "error": error }])] {
            let vendor = Vendor::answering(vec![Answer::json(429, body)]);
            let waits = Arc::new(Slept::default());
            let provider = vendor.patient_provider(Protocol::Gemini, true, waits);
            let error = provider.complete(&request()).await.unwrap_err();
            assert_eq!(error.class, ProviderErrorClass::RateLimited);
            let told = format!("; gave up after 1 attempt; it asked for a wait of {asked}");
            assert!(error.to_string().ends_with(&told), "{error}");
        }
    }
}
