//! Clients for the wire protocols of model providers, over one HTTP module.
//!
//! A provider is data: [`ProviderConfig`] has its URL, the header of its key, its models and their prices.
//! [`connect`] makes a [`rye_thread::Provider`] of it.
//!
//! [`body`], [`decode`] and [`StreamDecoder`] encode and decode without I/O; the module of each [`Protocol`]
//! has its own `encode` and `decode`. [`StepsProvider`] follows planned steps without a model.
//!
//! ```
//! use rye_providers::{ModelPreference, ProviderConfig};
//! use serde_json::json;
//!
//! let config = ProviderConfig::from_value(&json!({
//!     "protocol": "anthropic_messages",
//!     "base_url": "https://api.anthropic.com",
//!     "auth": { "env": "ANTHROPIC_API_KEY", "header": "x-api-key" },
//!     "tiers": { "standard": "claude-sonnet-5" },
//!     "models": {
//!         "claude-sonnet-5": {
//!             "context_window": 200_000,
//!             "max_output": 64_000,
//!             "prices": { "input": "3", "output": "15", "cache_read": "0.30", "cache_write": "3.75" },
//!         },
//!     },
//! }))?;
//! let choice = config.choose(&ModelPreference { tier: Some("standard"), ..ModelPreference::default() })?;
//! assert_eq!(choice.model, "claude-sonnet-5");
//! assert_eq!(choice.prices.map(|prices| prices.cache_read.get()), Some(300_000_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod choice;
mod codec;
mod config;
mod connect;
mod key;
mod money;
mod protocol;
mod refusal;
mod steps;

mod answer;
mod conversation;
mod encoder;
mod halves;
mod raw;
mod sse;
mod stop;
mod stream;
mod telemetry;
mod usage;
mod waits;
mod wire;

pub mod anthropic;
pub mod gemini;
pub mod openai_chat;
pub mod openai_responses;

mod openai_error;

mod http;

pub use choice::{ChoiceError, ModelChoice, ModelPreference};
pub use codec::{body, decode};
pub use config::{
    Auth, ConfigError, ConfigProblem, MaxTokensField, Model, ProviderConfig, RetryPolicy,
};
pub use connect::{ConnectError, connect, connect_with_timing};
pub use http::{RandomBits, Timing, Waits};
pub use key::{ApiKey, ApiKeyError};
pub use protocol::{Delivery, Protocol};
pub use refusal::Refusal;
pub use steps::{
    MAX_PLANNED_DEPTH, MAX_PLANNED_STEPS, PLANNED_STEPS, PlannedCall, PlannedOutput, PlannedStep,
    Presence, StepsProvider, write_as_text,
};
pub use stream::{Ending, StreamDecoder};
pub use wire::{DecodeError, EncodeError, StreamError};
