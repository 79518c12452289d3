#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod refusal;

mod kernel;
mod open;

mod pipe;
mod read;
mod text;

pub use open::{open_folder, open_plain, open_unlinked, open_with};
pub use pipe::read_plain_or_pipe;
pub use read::{read_plain, read_plain_line, read_unlinked};
pub use refusal::Refusal;
pub use text::{NotText, text};
