//! Encoder and decoder of Gemini's generateContent, without I/O (WIRES 1.3).
//!
//! [`Reply::raw`](rye_thread::Reply::raw) is the `content` of the answer, including signatures. It is sent
//! back unchanged.
//!
//! ```
//! use rye_providers::{Delivery, ModelChoice, gemini};
//! use rye_thread::{Opening, Request};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let request = Request::new(&opening, Vec::new(), 1024);
//! let body = gemini::encode(&request, &ModelChoice::new("m", 200_000, 8_000), Delivery::Whole)?;
//! assert_eq!(
//!     body,
//!     r#"{"generationConfig":{"maxOutputTokens":1024},"contents":[{"role":"user","parts":[{"text":"Say hello."}]}]}"#,
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
use crate::protocol::Delivery;
use crate::wire::Wire;

pub(crate) const WIRE: Wire = Wire {
    path: |model, delivery| match delivery {
        Delivery::Streamed => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
        Delivery::Whole => format!("/v1beta/models/{model}:generateContent"),
    },
    headers: &[],
    encode,
    decode,
    assembler: || Box::<assemble::Content>::default(),
    read_error: error::read_error,
};
