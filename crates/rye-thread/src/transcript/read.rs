//! Reading a transcript back, and finding where it was changed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use rye_sign::PublicKey;
use rye_sign::chain::{Checkpoint, CheckpointError, Head};
use serde_json::Value;

use super::Record;
use super::wire::{FORMAT, ReadWire, VERSION};
use crate::ThreadId;

/// A transcript that is whole, but for a torn last line.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// The hash of all records, to compare with the one that `thread.json` holds.
    pub head: Head,
    /// How many records a signed checkpoint covers; those after it are chained only.
    pub signed: u64,
    /// The bytes of a last line without its end, which a killed program leaves; they are in no record.
    pub torn: Option<Range<usize>>,
}

/// Verifies and reads the bytes of a transcript in one pass.
///
/// # Errors
///
/// The first place that is not as it was written.
pub fn read(bytes: &[u8], thread: &ThreadId, keys: &[PublicKey]) -> Result<Reading, Damage> {
    let mut reading = Reading { records: Vec::new(), head: Head::genesis(), signed: 0, torn: None };
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let range = start..start + line.len();
        start = range.end;
        match line.strip_suffix(b"\n") {
            Some(line) => reading.take(line, thread, keys).map_err(|kind| Damage {
                record: reading.count(),
                bytes: range,
                kind,
            })?,
            None => reading.torn = Some(range),
        }
    }
    Ok(reading)
}

impl Reading {
    fn count(&self) -> u64 {
        u64::try_from(self.records.len()).unwrap_or(u64::MAX)
    }

    fn take(
        &mut self,
        line: &[u8],
        thread: &ThreadId,
        keys: &[PublicKey],
    ) -> Result<(), DamageKind> {
        let wire: ReadWire = serde_json::from_slice(line)
            .map_err(|error| DamageKind::Unreadable { message: error.to_string() })?;
        let seq = self.count();
        if wire.prev != self.head.to_string() {
            return Err(DamageKind::Chain);
        }
        if wire.seq != seq || wire.thread_id != thread.as_str() {
            return Err(DamageKind::OtherPlace { seq: wire.seq, thread: wire.thread_id });
        }
        if seq == 0 {
            check_format(&wire)?;
        }
        if wire.event == "checkpoint" {
            self.check(&wire, thread, keys)?;
        }
        self.head = self.head.link(line);
        self.records.push(Record {
            seq,
            at: wire.ts.parse().map_err(|_| DamageKind::Unreadable {
                message: format!("`{}` is no time", wire.ts),
            })?,
            thought: Duration::from_millis(wire.thought_millis),
            thread: thread.clone(),
            directive: wire.directive,
            event: wire.event,
            payload: wire.payload,
        });
        Ok(())
    }

    fn check(
        &mut self,
        wire: &ReadWire,
        thread: &ThreadId,
        keys: &[PublicKey],
    ) -> Result<(), DamageKind> {
        let checkpoint = parse(wire).and_then(|value| {
            Checkpoint::from_json(&value)
                .map_err(|source| DamageKind::Checkpoint { source: Box::new(source) })
        })?;
        let seq = self.count();
        checkpoint
            .verify(&self.head, seq, thread.as_str(), keys)
            .map_err(|source| DamageKind::Checkpoint { source: Box::new(source) })?;
        self.signed = seq;
        Ok(())
    }
}

fn parse(wire: &ReadWire) -> Result<Value, DamageKind> {
    serde_json::from_str(wire.payload.get())
        .map_err(|error| DamageKind::Unreadable { message: error.to_string() })
}

fn check_format(wire: &ReadWire) -> Result<(), DamageKind> {
    let payload = parse(wire)?;
    let named = |key: &str| payload.get(key).cloned().unwrap_or_default();
    if wire.event == "thread_start" && named("format") == FORMAT && named("version") == VERSION {
        Ok(())
    } else {
        Err(DamageKind::Format)
    }
}

/// The first place of a transcript that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The record, from 0.
    pub record: u64,
    /// Its bytes in the file, the line end included.
    pub bytes: Range<usize>,
    /// What is wrong.
    pub kind: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} at byte {}: {}", self.record, self.bytes.start, self.kind)
    }
}

impl std::error::Error for Damage {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// It does not follow from the records before it.
    #[error("the record before it was changed, or one was added or removed there")]
    Chain,
    /// The checkpoint does not sign the records before it.
    #[error("its checkpoint is not valid")]
    Checkpoint {
        /// What is wrong with the checkpoint.
        source: Box<CheckpointError>,
    },
    /// The first record does not name a format that this version reads.
    #[error("it does not begin a transcript of version 1")]
    Format,
    /// It was written for another place.
    #[error("it is record {seq} of `{thread}`")]
    OtherPlace {
        /// The number that it has.
        seq: u64,
        /// The thread that it names.
        thread: String,
    },
    /// It is no record.
    #[error("it is no record: {message}")]
    Unreadable {
        /// What the reader met.
        message: String,
    },
}
