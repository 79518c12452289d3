//! One line of a transcript, as read.

use std::time::Duration;

use rye_sign::chain::Head;
use rye_types::Moment;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::ThreadId;
use crate::money::Change;

/// A record that fits the chain.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// The hash of all records before it.
    pub prev: Head,
    /// The time of the record.
    pub at: Moment,
    /// The approval waits since the previous record, in whole milliseconds.
    pub approval_wait: Duration,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// The directive of the thread.
    pub directive: String,
    /// The name of the event. Unknown names are kept.
    pub event: String,
    /// The payload, as the JSON text that was written.
    pub payload: Box<RawValue>,
    /// The change that it makes to the money of the thread.
    pub(crate) change: Option<Change>,
}

impl Record {
    /// Reads the payload.
    pub(crate) fn payload_as<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_str(self.payload.get()).map_err(|error| error.to_string())
    }
}
