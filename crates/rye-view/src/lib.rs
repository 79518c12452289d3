#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod atif;
pub mod export;
mod listed;
mod model;
mod page;
pub mod receipt;
pub mod serve;
mod source;
mod terminal;
mod unread;

use self::listed::Filter;
pub use self::listed::Listed;
pub use self::source::{Signer, Source};
pub use self::terminal::Charset;
