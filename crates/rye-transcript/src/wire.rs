//! The JSON of a record, separate from the types that it represents.

use rye_sign::chain::Head;
use rye_types::Moment;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::event::Payload;
use crate::json::is_zero;

#[derive(Serialize)]
pub(crate) struct RecordWire<'a> {
    pub(crate) seq: u64,
    pub(crate) ts: Moment,
    pub(crate) thread_id: &'a str,
    pub(crate) directive: &'a str,
    pub(crate) event: &'a str,
    pub(crate) payload: Payload<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) approval_wait_millis: u64,
    #[serde(serialize_with = "crate::json::text::serialize")]
    pub(crate) prev: Head,
}

impl RecordWire<'_> {
    /// Appends the record without any line end.
    pub(crate) fn write(&self, lines: &mut Vec<u8>) {
        serde_json::to_writer(lines, self).expect("because every part of it is plain JSON");
    }
}

/// A record as read. The chain also covers members that this version does not know.
#[derive(Deserialize)]
pub(crate) struct ReadWire {
    pub(crate) seq: u64,
    pub(crate) ts: String,
    pub(crate) thread_id: String,
    pub(crate) directive: String,
    pub(crate) event: String,
    pub(crate) payload: Box<RawValue>,
    #[serde(default)]
    pub(crate) approval_wait_millis: u64,
    /// `true` if a program that does not know the event may go on without it.
    #[serde(default)]
    pub(crate) ignorable: bool,
    pub(crate) prev: String,
}
