//! The crate's public behaviour, on real files in temporary folders.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made is a failed test")]

mod caching;
mod chains;
mod configs;
mod files;
mod finding;
mod hooks;
mod links;
mod listing;
mod placing;
mod revoking;
mod searching;
mod trusting;
mod verifying;
mod world;
