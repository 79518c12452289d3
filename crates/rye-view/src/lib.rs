#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

pub mod export;
mod model;
mod page;
mod source;

pub use self::source::{Signer, Source};
