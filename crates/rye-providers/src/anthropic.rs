//! Anthropic's Messages, without any I/O: a request becomes the exact bytes of a body, a response's bytes become a reply.
//!
//! What the model said is sent back byte for byte, unknown blocks and reasoning included, because the provider binds its
//! reasoning to them (WIRES 1.1). Responses are read whole; nothing streams.
//!
//! ```
//! use rye_providers::{ModelChoice, anthropic};
//! use rye_thread::{Opening, Request};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let body = anthropic::encode(&Request::new(&opening, Vec::new(), 1024), &ModelChoice::new("m", 200_000, 8_000))?;
//! assert_eq!(
//!     body,
//!     r#"{"model":"m","max_tokens":1024,"messages":[{"role":"user","content":"Say hello."}]}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod error;

pub use self::decode::{DecodeError, decode};
pub use self::encode::{EncodeError, encode};
pub(crate) use self::error::read_error;

/// The path below `base_url`.
pub(crate) const PATH: &str = "/v1/messages";

/// The value of the `anthropic-version` header where the config gives none.
pub(crate) const VERSION: &str = "2023-06-01";
