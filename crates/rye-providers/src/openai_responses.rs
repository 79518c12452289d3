//! Encoder and decoder of OpenAI's Responses, without I/O (WIRES 1.2).
//!
//! [`Reply::raw`](rye_thread::Reply::raw) is the list of output items, including reasoning with its encrypted
//! content. It is sent back unchanged. The provider stores nothing.
//!
//! ```
//! use rye_providers::openai_responses::decode;
//!
//! let body = r#"{"status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed",
//!     "content":[{"type":"output_text","text":"Hello.","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":2}}"#;
//! assert_eq!(decode(body.as_bytes())?.text, "Hello.");
//! # Ok::<(), rye_providers::DecodeError>(())
//! ```

mod assemble;
mod decode;
mod encode;
mod error;

pub use self::decode::decode;
pub use self::encode::encode;
use crate::wire::Wire;

pub(crate) const WIRE: Wire = Wire {
    path: |_, _| "/responses".to_owned(),
    headers: &[],
    encode,
    decode,
    assembler: || Box::<assemble::Response>::default(),
    read_error: error::read_error,
};
