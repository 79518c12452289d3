//! One POST with retries, for every protocol: what is sent and how an error's body reads is the protocol's.

mod client;
mod failure;
mod guard;
mod hints;
mod read;
mod report;
mod retry;
mod telemetry;

pub(crate) use self::client::{Connection, Transport, TransportError};
pub use self::report::Refusal;
