//! Sources of each format, imported.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod formats;
mod own;
