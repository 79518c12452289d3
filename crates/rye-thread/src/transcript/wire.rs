//! The JSON of a record, separate from the types that it represents.

use std::fmt::Display;

use rye_sign::chain::Head;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::payload::Payload;
use crate::Moment;

/// The format of a transcript, as its first record names it.
pub(super) const FORMAT: &str = "rye-transcript";
pub(super) const VERSION: u64 = 2;

#[derive(Serialize)]
pub(super) struct RecordWire<'a> {
    pub(super) seq: u64,
    pub(super) ts: Shown<Moment>,
    pub(super) thread_id: &'a str,
    pub(super) directive: &'a str,
    pub(super) event: &'a str,
    pub(super) payload: Payload<'a>,
    #[serde(skip_serializing_if = "is_none")]
    pub(super) approval_wait_millis: u64,
    pub(super) prev: Shown<Head>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(millis: &u64) -> bool {
    *millis == 0
}

/// A value that is serialized through `Display`, without a copy.
pub(super) struct Shown<T>(pub(super) T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl RecordWire<'_> {
    /// Appends the record without any line end.
    pub(super) fn write(&self, lines: &mut Vec<u8>) {
        serde_json::to_writer(lines, self).expect("because every part of it is plain JSON");
    }
}

/// A record as read. The chain also covers members that this version does not know.
#[derive(Deserialize)]
pub(super) struct ReadWire {
    pub(super) seq: u64,
    pub(super) ts: String,
    pub(super) thread_id: String,
    pub(super) directive: String,
    pub(super) event: String,
    pub(super) payload: Box<RawValue>,
    // Transcripts written before 0.1.0 have the alias.
    #[serde(default)]
    pub(super) approval_wait_millis: u64,
    pub(super) prev: String,
}
