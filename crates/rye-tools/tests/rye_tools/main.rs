//! The file tools as a caller meets them: what they do, and what they refuse.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made is a failed test")]

mod edits;
mod escapes;
mod files;
mod project;
mod races;
mod schemas;
mod searches;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod tools;
