//! The thread record, computed from the transcript.

use rye_types::{ThreadState, Usage};

use crate::account::recorded_cost;
use crate::{
    Event, EventKind, ProviderInfo, Reading, Record, RecordedEnd, ThreadRecord, pending_approval,
    recorded_end, recorded_limits,
};

impl ThreadRecord {
    /// Computes the record of a thread from its transcript, which holds all that `thread.json` says; `None` before the thread began.
    ///
    /// It claims nothing of the transcript, because the reader of a file does not know how much of it is on disk. Its state is
    /// `Running` or `Suspended` as long as the transcript has no end. Then its cost is that of the events that this version knows, and may
    /// be too low if there are others ([`Reading::foreign`]).
    #[must_use]
    pub fn from_transcript(reading: &Reading) -> Option<Self> {
        let first = reading.records.first()?;
        let start = reading.start()?;
        let limits =
            recorded_limits(reading).map_or(start.limits.clone(), |recorded| recorded.last);
        let mut record = Self::new(&first.thread, &first.directive, &limits, start.created);
        let ProviderInfo { provider, model, .. } = fallback(reading).unwrap_or(start.info());
        (record.root, record.parent, record.continues) =
            (start.root, start.parent, start.continues);
        let named = |name: String| Some(name).filter(|name| !name.is_empty());
        (record.provider, record.model) = (named(provider), named(model));
        record.updated = reading.records.last().map_or(start.created, |last| last.at);
        record.facts = start.facts;
        match recorded_end(reading) {
            Some(end) => record.apply_end(end),
            None => record.stand(reading),
        }
        Some(record)
    }

    /// Sets the state, the totals and the time to those of a recorded end.
    pub fn apply_end(&mut self, end: RecordedEnd) {
        let RecordedEnd { state, at, turns, usage, cost, outputs, failure, next } = end;
        self.updated = at;
        (self.state, self.turns, self.usage, self.cost) = (state, turns, usage, cost);
        (self.outputs, self.failure, self.continued_by) = (outputs, failure, next);
    }

    /// Computes the state and the totals of a thread without an end.
    fn stand(&mut self, reading: &Reading) {
        self.state = match pending_approval(reading) {
            Some(_) => ThreadState::Suspended,
            None => ThreadState::Running,
        };
        for reply in reading.of_kind(EventKind::StepFinish) {
            self.turns += 1;
            self.usage = self.usage.plus(&usage_of(reply));
        }
        self.cost = recorded_cost(reading);
    }
}

/// The tokens of an answer.
fn usage_of(record: &Record) -> Usage {
    match record.event() {
        Ok(Event::StepFinish(finish)) => finish.reply.usage,
        _ => Usage::default(),
    }
}

/// The provider that answers in place of the first.
fn fallback(reading: &Reading) -> Option<ProviderInfo> {
    match reading.of_kind(EventKind::ModelFallback).next_back()?.event() {
        Ok(Event::ModelFallback(fallback)) => Some(fallback.info()),
        _ => None,
    }
}
