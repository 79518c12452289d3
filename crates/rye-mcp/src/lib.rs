#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod error;
mod http;
mod lines;
mod message;
mod patience;
mod streams;

pub use self::error::ServeError;
pub use self::http::{HttpOptions, serve_http};
pub use self::streams::serve_streams;
