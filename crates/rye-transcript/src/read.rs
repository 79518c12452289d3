//! Verification of a stored transcript.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use rye_sign::chain::{Checkpoint, CheckpointError, Head};
use rye_sign::{KeyId, PublicKey};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::format::{FORMAT, VERSION};
use crate::payload::ThreadStart;
use crate::wire::ReadWire;
use crate::{Event, EventKind, Record, ThreadId, TranscriptClaim};

/// A verified transcript. Only its end may be incomplete.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// The hash of all records, for comparison with the one in `thread.json`.
    pub head: Head,
    /// The number of records under a signed checkpoint. The records after it are only chained.
    pub signed: u64,
    /// The keys that signed the checkpoints, each once.
    pub signers: Vec<KeyId>,
    /// The bytes at the end that a killed program did not write completely.
    ///
    /// They are an incomplete line, or records that need a checkpoint and have none.
    pub torn: Option<Range<usize>>,
}

/// Verifies and parses the bytes of a transcript in one pass.
///
/// # Errors
///
/// The first damaged place.
pub fn read(bytes: &[u8], thread: &ThreadId, keys: &[PublicKey]) -> Result<Reading, Damage> {
    let mut reader = Reader::new(thread, keys);
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let range = start..start + line.len();
        start = range.end;
        match line.strip_suffix(b"\n") {
            Some(line) => reader.take(line, range.start).map_err(|kind| Damage {
                record: reader.reading.count(),
                bytes: range,
                kind,
            })?,
            None => reader.reading.torn = Some(range),
        }
    }
    Ok(reader.into_reading(bytes.len()))
}

impl Reading {
    fn count(&self) -> u64 {
        u64::try_from(self.records.len()).unwrap_or(u64::MAX)
    }

    /// Returns the records of this kind, oldest first.
    pub fn of_kind(&self, kind: EventKind) -> impl DoubleEndedIterator<Item = &Record> {
        self.records.iter().filter(move |record| record.kind == kind)
    }

    /// Returns the first record that this version does not know and may not go on without.
    ///
    /// It is verified and shown like the others. Resume, decisions and accounts refuse its thread.
    #[must_use]
    pub fn foreign(&self) -> Option<&Record> {
        self.records.iter().find(|record| record.is_foreign())
    }

    /// Returns the beginning of the thread, or `None` before it.
    #[must_use]
    pub fn start(&self) -> Option<ThreadStart> {
        match self.records.first()?.event() {
            Ok(Event::ThreadStart(start)) => Some(start),
            _ => None,
        }
    }

    /// Returns the events in order, each with its record.
    ///
    /// # Errors
    ///
    /// The reason in words, for each event that this version cannot read.
    pub fn events(&self) -> impl Iterator<Item = (&Record, Result<Event, String>)> {
        self.records.iter().map(|record| (record, record.event()))
    }

    /// Returns the records whose events this version cannot read and may not go on without, each with the reason in words.
    ///
    /// What such a record decides was read nevertheless, unless a newer version wrote its event: an answer, arguments or a result may be
    /// unreadable for themselves, and their cost counts. A resume of the thread refuses each of them.
    pub fn unread(&self) -> impl Iterator<Item = (&Record, String)> {
        let counted = self
            .events()
            .filter(|(record, _)| record.kind != EventKind::Unknown || record.is_foreign());
        counted.filter_map(|(record, event)| Some((record, event.err()?)))
    }

    /// Returns the records, each with `true` if its own checkpoint follows it.
    ///
    /// A permission of the operator is followed by its own checkpoint. A later checkpoint also covers records that
    /// another program added after the last one, so it does not prove their author.
    pub fn records_with_seals(&self) -> impl DoubleEndedIterator<Item = (&Record, bool)> {
        let records = &self.records;
        let is_checkpoint = |record: &Record| record.kind == EventKind::Checkpoint;
        let next = move |index: usize| records.get(index + 1);
        let sealed = move |(index, record)| (record, next(index).is_some_and(is_checkpoint));
        records.iter().enumerate().map(sealed)
    }

    /// Returns the hash of the first `records` records, or `None` if there are fewer.
    #[must_use]
    pub fn head_after(&self, records: u64) -> Option<&Head> {
        if records == self.count() {
            return Some(&self.head);
        }
        let next = self.records.get(usize::try_from(records).ok()?)?;
        Some(&next.prev)
    }

    /// Returns `true` if the transcript has the records that a `thread.json` claims, and no more if the claim is not
    /// open.
    #[must_use]
    pub fn fits(&self, claim: &TranscriptClaim) -> bool {
        let has_claimed =
            self.head_after(claim.records).is_some_and(|head| head.to_string() == claim.head);
        let is_longer = self.count() != claim.records || self.torn.is_some();
        has_claimed && (claim.is_open || !is_longer)
    }
}

/// A reading in progress.
struct Reader<'a> {
    reading: Reading,
    thread: &'a ThreadId,
    keys: &'a [PublicKey],
    /// The index of the first record that needs a checkpoint after the last checkpoint, and the start of its line.
    unsigned: Option<(usize, usize)>,
    /// The key in the last `thread_start` or `thread_resumed`, until its checkpoint.
    named: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(thread: &'a ThreadId, keys: &'a [PublicKey]) -> Self {
        let reading = Reading {
            records: Vec::new(),
            head: Head::genesis(),
            signed: 0,
            signers: Vec::new(),
            torn: None,
        };
        Self { reading, thread, keys, unsigned: None, named: None }
    }

    fn take(&mut self, line: &[u8], start: usize) -> Result<(), DamageKind> {
        let wire: ReadWire = serde_json::from_slice(line)
            .map_err(|error| DamageKind::Unreadable { message: error.to_string() })?;
        self.check_place(&wire)?;
        self.check_signature(&wire, start)?;
        let kind = EventKind::named(&wire.event);
        let change = Record::decide(kind, &wire.payload)
            .map_err(|message| DamageKind::Payload { event: wire.event.clone(), message })?;
        let prev = self.reading.head;
        let record = Record {
            seq: wire.seq,
            prev,
            at: wire.ts.parse().map_err(|_| DamageKind::Unreadable {
                message: format!("`{}` is not a time", wire.ts),
            })?,
            approval_wait: Duration::from_millis(wire.approval_wait_millis),
            thread: self.thread.clone(),
            directive: wire.directive,
            kind,
            payload: wire.payload,
            unknown: (kind == EventKind::Unknown).then_some(wire.event),
            is_ignorable: wire.ignorable,
            change,
        };
        self.reading.head = prev.link(line);
        self.reading.records.push(record);
        Ok(())
    }

    fn check_place(&self, wire: &ReadWire) -> Result<(), DamageKind> {
        let seq = self.reading.count();
        if wire.prev != self.reading.head.to_string() {
            return Err(DamageKind::Chain);
        }
        if wire.seq != seq || wire.thread_id != self.thread.as_str() {
            let thread = wire.thread_id.clone();
            return Err(DamageKind::OtherPlace { seq: wire.seq, thread });
        }
        if seq == 0 { check_format(wire) } else { Ok(()) }
    }

    /// Verifies a checkpoint, and notes a record that needs one.
    fn check_signature(&mut self, wire: &ReadWire, start: usize) -> Result<(), DamageKind> {
        let kind = EventKind::named(&wire.event);
        if kind == EventKind::Checkpoint {
            return self.check_checkpoint(wire);
        }
        if self.reading.signed == 0 && !kind.may_open() {
            return Err(DamageKind::Unsigned);
        }
        if kind.needs_checkpoint() {
            self.unsigned = self.unsigned.or(Some((self.reading.records.len(), start)));
        }
        if kind.names_key() {
            let named = parse(wire)?.get("signed_by").and_then(Value::as_str).map(str::to_owned);
            self.named = Some(named.ok_or(DamageKind::Unsigned)?);
        }
        Ok(())
    }

    fn check_checkpoint(&mut self, wire: &ReadWire) -> Result<(), DamageKind> {
        let refused = |source| DamageKind::Checkpoint { source: Box::new(source) };
        let checkpoint =
            parse(wire).and_then(|value| Checkpoint::from_json(&value).map_err(refused))?;
        let seq = self.reading.count();
        checkpoint
            .verify(&self.reading.head, seq, self.thread.as_str(), self.keys)
            .map_err(refused)?;
        self.check_named(checkpoint.key_id())?;
        self.reading.signed = seq;
        self.unsigned = None;
        if !self.reading.signers.contains(checkpoint.key_id()) {
            self.reading.signers.push(checkpoint.key_id().clone());
        }
        Ok(())
    }

    /// Checks that the first checkpoint after an opening has the key that the opening names.
    fn check_named(&mut self, signer: &KeyId) -> Result<(), DamageKind> {
        let Some(pem) = self.named.take() else { return Ok(()) };
        let named = PublicKey::from_pem(&pem).map_err(|_| DamageKind::Unsigned)?;
        match named.is_named(signer) {
            true => Ok(()),
            false => Err(DamageKind::OtherSigner { named: named.key_id().clone() }),
        }
    }

    /// Cuts off records that need a checkpoint and have none.
    fn into_reading(mut self, length: usize) -> Reading {
        let reading = &mut self.reading;
        if let Some((first, start)) = self.unsigned
            && let Some(record) = reading.records.get(first)
        {
            reading.head = record.prev;
            reading.records.truncate(first);
            reading.torn = Some(start..length);
        }
        self.reading
    }
}

/// The key that a line names, if it is an opening.
pub(crate) fn named_key(line: &[u8]) -> Option<String> {
    let wire: OpeningWire<'_> = serde_json::from_slice(line).ok()?;
    let payload = wire.payload.filter(|_| EventKind::named(wire.event).names_key())?;
    serde_json::from_str::<KeyWire>(payload.get()).ok().map(|opening| opening.signed_by)
}

#[derive(Deserialize)]
struct OpeningWire<'a> {
    event: &'a str,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct KeyWire {
    signed_by: String,
}

fn parse(wire: &ReadWire) -> Result<Value, DamageKind> {
    serde_json::from_str(wire.payload.get())
        .map_err(|error| DamageKind::Unreadable { message: error.to_string() })
}

fn check_format(wire: &ReadWire) -> Result<(), DamageKind> {
    let payload = parse(wire)?;
    let named = |key: &str| payload.get(key).cloned().unwrap_or_default();
    let is_start = EventKind::named(&wire.event) == EventKind::ThreadStart;
    if is_start && named("format") == FORMAT && named("version") == VERSION {
        Ok(())
    } else if is_start && named("format") == FORMAT && named("version").is_u64() {
        Err(DamageKind::OtherVersion { version: named("version").to_string() })
    } else {
        Err(DamageKind::Format)
    }
}

/// The first damaged place of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The number of the record, from 0.
    pub record: u64,
    /// Its bytes in the file, including the line end.
    pub bytes: Range<usize>,
    /// The kind of damage.
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

/// The kinds of damage of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// It does not continue the hash chain.
    #[error("the record before it was changed, or one was added or removed there")]
    Chain,
    /// The checkpoint does not sign the records before it.
    #[error("its checkpoint is not valid")]
    Checkpoint {
        /// The problem with the checkpoint.
        source: Box<CheckpointError>,
    },
    /// The first record does not name a format that this version reads.
    #[error("it does not begin a transcript")]
    Format,
    /// Another version of this program wrote the transcript.
    #[error(
        "it begins a transcript of version {version}, and this program reads version 2; run its directive again"
    )]
    OtherVersion {
        /// The version that the record names.
        version: String,
    },
    /// The checkpoint has another key than the one that the opening of the thread names.
    #[error("its checkpoint is not signed by the key `{named}`, which the thread names")]
    OtherSigner {
        /// The key that the thread names.
        named: KeyId,
    },
    /// It belongs to another place.
    #[error("it is record {seq} of `{thread}`")]
    OtherPlace {
        /// The number of the record.
        seq: u64,
        /// The thread of the record.
        thread: String,
    },
    /// An event precedes the checkpoint over the beginning of the thread.
    #[error("no key has signed how the thread began")]
    Unsigned,
    /// The event holds money, authority or the state of the thread, and its payload cannot be read.
    #[error(
        "its event `{event}` cannot be read ({message}), and what it decides is not passed over; a newer program may read it"
    )]
    Payload {
        /// The name of the event.
        event: String,
        /// The error of the parser.
        message: String,
    },
    /// The line is not a record.
    #[error("it is not a record: {message}")]
    Unreadable {
        /// The error of the parser.
        message: String,
    },
}
