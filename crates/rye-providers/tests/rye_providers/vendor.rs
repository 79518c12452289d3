//! A local server in the role of the vendor.

use std::sync::Arc;

use rye_providers::{
    ApiKey, ModelPreference, Protocol, ProviderConfig, RandomBits, Timing, Waits, connect,
    connect_with_timing,
};
use rye_thread::{Opening, Provider, ProviderError, Reply, Request};
use serde_json::{Value, json};

use crate::server::{Answer, Received, Server};

pub(crate) const KEY: &str = "sk-ant-very-secret";

/// A server that sends a list of answers in turn and then repeats the last one.
pub(crate) struct Vendor {
    pub(crate) server: Server,
}

impl Vendor {
    pub(crate) fn answering(answers: Vec<Answer>) -> Self {
        Self { server: Server::answering(answers) }
    }

    pub(crate) fn config(&self) -> Value {
        self.config_in(Protocol::AnthropicMessages)
    }

    pub(crate) fn config_in(&self, protocol: Protocol) -> Value {
        let prices = json!({ "input": "1", "output": "2" });
        let model = json!({ "context_window": 1000, "max_output": 100, "prices": prices });
        json!({
            "name": "vendor",
            "protocol": protocol.as_str(),
            "base_url": self.server.url(),
            "auth": { "env": "VENDOR_KEY" },
            "models": { "m": model, "n": model },
            "tiers": { "standard": "m" },
            "retry": { "attempts": 3, "first_delay_ms": 1, "max_delay_ms": 1, "total_seconds": 30 },
        })
    }

    /// The model `m`, with the fallback `n`.
    pub(crate) fn provider(&self, config: &Value) -> Box<dyn Provider> {
        self.provider_with(config, KEY)
    }

    /// The same with this key, if the configuration says that it is sent.
    pub(crate) fn provider_with(&self, config: &Value, key: &str) -> Box<dyn Provider> {
        let config = ProviderConfig::from_value(config).unwrap();
        let wish =
            ModelPreference { id: Some("m"), fallback: Some("n"), ..ModelPreference::default() };
        let choice = config.choose(&wish).unwrap();
        let key: Option<ApiKey> = config.auth().map(|_| key.parse().unwrap());
        connect(&config, &choice, key, no_randomness()).unwrap()
    }

    /// The model `m` with the default retry policy, and with another clock for its waits.
    pub(crate) fn patient_provider(
        &self,
        protocol: Protocol,
        is_streamed: bool,
        waits: Arc<dyn Waits>,
    ) -> Box<dyn Provider> {
        let mut config = self.config_in(protocol);
        config["stream"] = json!(is_streamed);
        config.as_object_mut().unwrap().remove("retry");
        let config = ProviderConfig::from_value(&config).unwrap();
        let choice = config.choose(&ModelPreference::default()).unwrap();
        let timing = Timing { random: no_randomness(), waits };
        connect_with_timing(&config, &choice, Some(KEY.parse().unwrap()), timing).unwrap()
    }

    pub(crate) async fn complete(&self) -> Result<Reply, ProviderError> {
        self.provider(&self.config()).complete(&request()).await
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.server.received()
    }
}

pub(crate) fn no_randomness() -> RandomBits {
    Arc::new(|| 0)
}

pub(crate) fn request() -> Request {
    let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
    Request::new(&opening, Vec::new(), 100)
}

pub(crate) fn hello() -> Answer {
    let message = json!({
        "type": "message",
        "content": [{ "type": "text", "text": "Hello." }],
        "stop_reason": "end_turn",
        "usage": { "input_tokens": 5, "output_tokens": 2 },
    });
    Answer::json(200, message)
}

pub(crate) fn error(status: u16, kind: &str, message: &str) -> Answer {
    let error = json!({ "type": kind, "message": message });
    Answer::json(status, json!({ "type": "error", "error": error, "request_id": "req_1" }))
}
