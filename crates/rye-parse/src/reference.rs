//! The manual of the formats, which the crate's documentation and `rye help format` show.

#[doc = include_str!("../format.md")]
pub const FORMAT_REFERENCE: &str = include_str!("../format.md");
