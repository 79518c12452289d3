//! One line of a transcript, as read.

use std::time::Duration;

use rye_sign::chain::Head;
use serde_json::value::RawValue;

use crate::{Moment, ThreadId};

/// A record that fits the chain.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// Its place, from 0.
    pub seq: u64,
    /// The hash of all records before it.
    pub prev: Head,
    /// When it was written.
    pub at: Moment,
    /// How much of the time since the record before it somebody thought about what the thread waited for; to the millisecond.
    pub thought: Duration,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// The directive that the thread follows.
    pub directive: String,
    /// The event's name; a name that this version does not know is kept.
    pub event: String,
    /// What is recorded, as the JSON text that was written.
    pub payload: Box<RawValue>,
}
