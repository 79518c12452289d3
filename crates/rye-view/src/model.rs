//! A thread as its pages need it: turns with their entries, spans of time, and waits.
//!
//! All of it comes from a verified [`Reading`](rye_thread::transcript::Reading). Texts stay in the records; an entry points at its
//! record, so that a long transcript is held once.

mod clock;
mod fold;
mod payload;
mod section;
mod span;

use rye_thread::Usage;
use rye_thread::transcript::Record;

pub(crate) use self::clock::ActiveClock;
use self::fold::Fold;
pub(crate) use self::payload::{item_name, main_argument, payload};
pub(crate) use self::section::{Entry, Section};
pub(crate) use self::span::{Pause, PauseKind, Span, SpanKind};
use crate::Source;

/// The read model of one thread.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) source: &'a Source<'a>,
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

    pub(crate) fn records(&self) -> &'a [Record] {
        &self.source.reading.records
    }

    pub(crate) fn record(&self, index: usize) -> Option<&'a Record> {
        self.records().get(index)
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
    pub(crate) fn signed(&self) -> usize {
        self.checkpoints.last().map_or(0, |last| usize::try_from(*last).unwrap_or(usize::MAX) + 1)
    }
}
