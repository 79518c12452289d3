//! One POST with retries, for every protocol. The protocol writes the body and reads errors.

mod body;
mod client;
mod failure;
mod guard;
mod hints;
mod memory;
mod patience;
mod read;
mod report;
mod retry;
mod telemetry;

pub(crate) use self::client::{Connection, Transport, TransportError};
pub use self::client::{RandomBits, Timing, Waits};
pub(crate) use self::memory::{DEFAULT_ANSWER_BYTES, MOST_ANSWER_BYTES};
