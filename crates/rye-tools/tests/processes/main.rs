//! Programs that tools start: what they get, what they give, and what they cannot do.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made is a failed test")]

mod arena;
mod ending;
mod escapes;
mod matrix;
#[cfg(feature = "mcp")]
mod remote;
mod repositories;
mod results;
#[cfg(feature = "mcp")]
mod scripted;
#[cfg(feature = "mcp")]
mod servers;
mod starts;
mod swaps;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod users;
