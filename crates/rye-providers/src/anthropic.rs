//! Encoder and decoder of Anthropic's Messages, without I/O.
//!
//! An answer is sent back byte for byte, including unknown blocks and reasoning, because the provider binds
//! its reasoning to these bytes (WIRES 1.1).
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
    // The older version, because nothing that is sent here needs the newer one, which not every compatible
    // server knows.
    headers: &[("anthropic-version", "2023-06-01")],
    encode,
    decode,
    assembler: || Box::<assemble::Message>::default(),
    read_error: error::read_error,
};
