//! The JSON of a record, separate from the types that it represents.

use std::fmt::Display;

use rye_sign::chain::Head;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Moment;
use crate::payload::Payload;

/// The format of a transcript, as its first record names it.
pub(crate) const FORMAT: &str = "rye-transcript";
pub(crate) const VERSION: u64 = 2;

#[derive(Serialize)]
pub(crate) struct RecordWire<'a> {
    pub(crate) seq: u64,
    pub(crate) ts: Shown<Moment>,
    pub(crate) thread_id: &'a str,
    pub(crate) directive: &'a str,
    pub(crate) event: &'a str,
    pub(crate) payload: Payload<'a>,
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) approval_wait_millis: u64,
    pub(crate) prev: Shown<Head>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(millis: &u64) -> bool {
    *millis == 0
}

/// A value that is serialized through `Display`, without a copy.
pub(crate) struct Shown<T>(pub(crate) T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
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
    // Transcripts written before 0.1.0 have the alias.
    #[serde(default)]
    pub(crate) approval_wait_millis: u64,
    pub(crate) prev: String,
}
