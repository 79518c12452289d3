#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

pub mod export;
mod listed;
mod model;
mod page;
pub mod serve;
mod source;

use self::listed::Filter;
pub use self::listed::Listed;
pub use self::source::{Signer, Source};
