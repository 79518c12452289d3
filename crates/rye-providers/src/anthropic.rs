//! Anthropic's Messages, without any I/O: a request becomes the exact bytes of a body, a response's bytes become a reply.
//!
//! What the model said is sent back byte for byte, unknown blocks and reasoning included, because the provider binds its
//! reasoning to them (WIRES 1.1).
//!
//! ```
//! use rye_providers::{Delivery, ModelChoice, anthropic};
//! use rye_thread::{Opening, Request};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let request = Request::new(&opening, Vec::new(), 1024);
//! let body = anthropic::encode(&request, &ModelChoice::new("m", 200_000, 8_000), Delivery::Whole)?;
//! assert_eq!(
//!     body,
//!     r#"{"model":"m","max_tokens":1024,"messages":[{"role":"user","content":"Say hello."}]}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assemble;
mod content;
mod decode;
mod encode;
mod error;

pub use self::decode::decode;
pub use self::encode::encode;
use crate::wire::Wire;

pub(crate) const WIRE: Wire = Wire {
    path: |_, _| "/v1/messages".to_owned(),
    // The newer version refuses nothing that is sent here, and not every compatible server knows it.
    headers: &[("anthropic-version", "2023-06-01")],
    encode,
    decode,
    assembler: || Box::<assemble::Message>::default(),
    read_error: error::read_error,
};
