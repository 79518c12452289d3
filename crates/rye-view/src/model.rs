//! A thread as its pages need it: turns with their entries, spans of time, and waits.
//!
//! All of it comes from a verified [`Reading`](rye_transcript::Reading). Texts stay in the records; an entry points at its
//! record, so that a long transcript is held once.

pub(crate) mod alignment;
mod clock;
mod fold;
mod item;
mod section;
mod span;
mod window;

use std::collections::BTreeMap;

use rye_transcript::{Event, PendingApproval, Record, Spawn, ThreadId};

use rye_transcript::payload::ChildEnd;
use rye_types::Usage;

pub(crate) use self::clock::ActiveClock;
use self::fold::Fold;
pub(crate) use self::item::{is_bad, item_name, item_of_call, main_argument};
pub(crate) use self::section::{Entry, Section};
pub(crate) use self::span::{Pause, PauseKind, Span, SpanKind};
pub(crate) use self::window::{Found, Page, Part, Window};
use crate::Source;

/// The read model of one thread.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) source: &'a Source<'a>,
    /// The beginning of each id on the page, so that several threads fit on one.
    pub(crate) prefix: String,
    /// The part that the page shows; `None` for all.
    pub(crate) window: Option<Window>,
    /// The ends of children as this thread recorded them.
    pub(crate) child_ends: BTreeMap<ThreadId, ChildEnd>,
    /// The call that waits for a decision.
    pub(crate) pending: Option<PendingApproval>,
    /// The token with which the call that waits is decided on.
    pub(crate) decision: Option<String>,
    /// Wall time to active time.
    pub(crate) clock: ActiveClock,
    /// A section for the records before the first turn, then one for each turn.
    pub(crate) sections: Vec<Section>,
    /// In the order of their starts.
    pub(crate) spans: Vec<Span>,
    /// The times that do not count as the thread's, in their order.
    pub(crate) pauses: Vec<Pause>,
    /// The places of the checkpoints.
    pub(crate) checkpoints: Vec<u64>,
    /// The number of answered requests.
    pub(crate) turns: u64,
    pub(crate) usage: Usage,
    pub(crate) errors: Vec<u64>,
    pub(crate) approvals: Vec<u64>,
    pub(crate) refusals: u64,
}

impl<'a> Thread<'a> {
    pub(crate) fn read(source: &'a Source<'a>) -> Self {
        let mut fold = Fold::new(source);
        source
            .reading
            .records
            .iter()
            .enumerate()
            .for_each(|(index, record)| fold.take(index, record));
        fold.finish()
    }

    /// The same thread for a page with others, whose ids begin with another prefix.
    pub(crate) fn with_prefix(self, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..self }
    }

    /// The same thread with a form for the call that waits.
    pub(crate) fn with_decision(self, token: Option<String>) -> Self {
        Self { decision: token, ..self }
    }

    /// The name of a part of the page, which names the thread where it is one of several.
    pub(crate) fn label(&self, part: &str) -> String {
        if self.prefix.is_empty() {
            return part.to_owned();
        }
        format!("{part} of {}", self.source.record.thread)
    }

    /// The id of the element of a record.
    pub(crate) fn record_id(&self, seq: u64) -> String {
        format!("{}r{seq}", self.prefix)
    }

    /// The id of the element with the line, the hash and the checkpoint of a record.
    pub(crate) fn panel_id(&self, seq: u64) -> String {
        format!("{}p{seq}", self.prefix)
    }

    pub(crate) fn records(&self) -> &'a [Record] {
        &self.source.reading.records
    }

    pub(crate) fn record(&self, index: usize) -> Option<&'a Record> {
        self.records().get(index)
    }

    /// The child that a record starts.
    pub(crate) fn spawn(&self, seq: u64) -> Option<Spawn> {
        match self.record(usize::try_from(seq).ok()?)?.event() {
            Ok(Event::SpawnChild(spawn)) => Some(spawn),
            _ => None,
        }
    }

    /// The time into the thread at which a record was written, in milliseconds.
    pub(crate) fn active_at(&self, record: &Record) -> u64 {
        self.clock.active(record.at.as_unix_millis())
    }

    /// The checkpoint that signs a record, where there is one.
    pub(crate) fn checkpoint_of(&self, seq: u64) -> Option<u64> {
        let after = self.checkpoints.partition_point(|checkpoint| *checkpoint <= seq);
        self.checkpoints.get(after).copied()
    }

    /// The number of records that a checkpoint signs, the last checkpoint included.
    pub(crate) fn signed_records(&self) -> usize {
        self.checkpoints.last().map_or(0, |last| usize::try_from(*last).unwrap_or(usize::MAX) + 1)
    }
}
