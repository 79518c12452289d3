//! Speaks each model vendor's wire format over one HTTP module.
//!
//! A provider is data: [`ProviderConfig`] says where it is, how a key is sent, which models it has and what they cost;
//! [`connect`] makes a [`rye_thread::Provider`] of it. [`anthropic`] encodes and decodes without any I/O, and
//! [`StepsProvider`] follows planned steps with no model at all.
//!
//! ```
//! use rye_providers::{ModelWish, ProviderConfig};
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
//! let choice = config.choose(&ModelWish { tier: Some("standard"), ..ModelWish::default() })?;
//! assert_eq!(choice.model, "claude-sonnet-5");
//! assert_eq!(choice.prices.map(|prices| prices.cache_read.get()), Some(300_000_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod choice;
mod config;
mod connect;
mod key;
mod money;
mod steps;
mod suggest;

pub mod anthropic;

mod http;

pub use choice::{ChoiceError, ModelChoice, ModelWish};
pub use config::{
    Auth, ConfigError, ConfigProblem, Model, Protocol, ProviderConfig, RetryPolicy, ReturnsStyle,
};
pub use connect::{ConnectError, RandomBits, body, connect};
pub use key::{ApiKey, ApiKeyError};
pub use steps::{PlannedCall, PlannedOutput, PlannedStep, Presence, StepsProvider};
