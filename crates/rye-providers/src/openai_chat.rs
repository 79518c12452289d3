//! Encoder and decoder of OpenAI's Chat Completions, which most compatible servers support, without I/O
//! (WIRES 1.2).
//!
//! [`Reply::raw`](rye_thread::Reply::raw) is the message of the answer. It is sent back with all its members
//! except `annotations`, which no request may have. A call without an id or a type gets one, because its
//! result must name it.
//!
//! ```
//! use rye_providers::{Delivery, ModelChoice, openai_chat};
//! use rye_thread::{Opening, Request};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let request = Request::new(&opening, Vec::new(), 1024);
//! let body = openai_chat::encode(&request, &ModelChoice::new("m", 200_000, 8_000), Delivery::Whole)?;
//! let expected = r#"{"model":"m","max_completion_tokens":1024,"messages":[{"role":"user","content":"Say hello."}]}"#;
//! assert_eq!(body, expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assemble;
mod decode;
mod encode;

pub use self::decode::decode;
pub use self::encode::encode;
use crate::openai_error::read_error;
use crate::wire::Wire;

pub(crate) const WIRE: Wire = Wire {
    path: |_, _| "/chat/completions".to_owned(),
    headers: &[],
    encode,
    decode,
    assembler: || Box::<assemble::Completion>::default(),
    read_error,
};
