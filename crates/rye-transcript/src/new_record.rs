//! One line of a transcript, as written.

use rye_sign::chain::Head;
use rye_types::Moment;

use crate::event::Payload;
use crate::wire::RecordWire;
use crate::{Event, ThreadId};

/// A record that a transcript does not have yet. It is not signed: a checkpoint signs the records before it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a record without one of these must not compile")]
pub struct NewRecord<'a> {
    /// Its number, from 0.
    pub seq: u64,
    /// The hash of all records before it.
    pub prev: Head,
    /// The time of the record.
    pub at: Moment,
    /// The approval waits since the previous record, in milliseconds.
    pub approval_wait_millis: u64,
    /// The thread that it belongs to.
    pub thread: &'a ThreadId,
    /// The directive of the thread.
    pub directive: &'a str,
    /// The event.
    pub event: &'a Event,
}

impl NewRecord<'_> {
    /// Appends the line of the record without its line end, which the hash of the record leaves out as well.
    pub fn write(&self, lines: &mut Vec<u8>) {
        let record = RecordWire {
            seq: self.seq,
            ts: self.at,
            thread_id: self.thread.as_str(),
            directive: self.directive,
            event: self.event.name(),
            payload: Payload(self.event),
            approval_wait_millis: self.approval_wait_millis,
            prev: self.prev,
        };
        record.write(lines);
    }
}
