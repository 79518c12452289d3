//! A local server in the role of the vendor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rye_providers::{ApiKey, ModelPreference, ProviderConfig, RandomBits, connect};
use rye_thread::{Opening, Provider, ProviderError, Reply, Request};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request as Received, Respond, ResponseTemplate};

pub(crate) const KEY: &str = "sk-ant-very-secret";

/// A server that sends a list of answers in turn and then repeats the last one.
pub(crate) struct Vendor {
    pub(crate) server: MockServer,
}

impl Vendor {
    pub(crate) async fn answering(answers: Vec<ResponseTemplate>) -> Self {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(InTurn { answers, next: AtomicUsize::new(0) })
            .mount(&server)
            .await;
        Self { server }
    }

    pub(crate) fn config(&self) -> Value {
        json!({
            "name": "vendor",
            "protocol": "anthropic_messages",
            "base_url": self.server.uri(),
            "auth": { "env": "VENDOR_KEY" },
            "models": { "m": { "context_window": 1000, "max_output": 100, "prices": { "input": "1", "output": "2" } } },
            "retry": { "attempts": 3, "first_delay_ms": 1, "max_delay_ms": 1, "total_seconds": 30 },
        })
    }

    pub(crate) fn provider(&self, config: &Value) -> Box<dyn Provider> {
        let config = ProviderConfig::from_value(config).unwrap();
        let choice = config.choose(&ModelPreference::default()).unwrap();
        let key: Option<ApiKey> = config.auth().map(|_| KEY.parse().unwrap());
        connect(&config, &choice, key, no_randomness()).unwrap()
    }

    pub(crate) async fn complete(&self) -> Result<Reply, ProviderError> {
        self.provider(&self.config()).complete(&request()).await
    }

    pub(crate) async fn received(&self) -> Vec<Received> {
        self.server.received_requests().await.unwrap()
    }
}

pub(crate) fn no_randomness() -> RandomBits {
    Arc::new(|| 0)
}

pub(crate) fn request() -> Request {
    let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
    Request::new(&opening, Vec::new(), 100)
}

pub(crate) fn hello() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "type": "message",
        "content": [{ "type": "text", "text": "Hello." }],
        "stop_reason": "end_turn",
        "usage": { "input_tokens": 5, "output_tokens": 2 },
    }))
}

pub(crate) fn error(status: u16, kind: &str, message: &str) -> ResponseTemplate {
    let error = json!({ "type": kind, "message": message });
    ResponseTemplate::new(status)
        .set_body_json(json!({ "type": "error", "error": error, "request_id": "req_1" }))
}

struct InTurn {
    answers: Vec<ResponseTemplate>,
    next: AtomicUsize,
}

impl Respond for InTurn {
    fn respond(&self, _: &Received) -> ResponseTemplate {
        let next = self.next.fetch_add(1, Ordering::SeqCst);
        self.answers.get(next).or(self.answers.last()).cloned().unwrap()
    }
}
