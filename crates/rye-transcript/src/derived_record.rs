//! The thread record, computed from the transcript.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::account::recorded_cost;
use crate::failure::disk::LimitsDisk;
use crate::message::disk::UsageDisk;
use crate::{
    Moment, Reading, Record, RecordedEnd, ThreadId, ThreadRecord, ThreadState, Usage,
    pending_approval, recorded_end, recorded_limits,
};

impl ThreadRecord {
    /// Computes the record of a thread from its transcript, which holds all that `thread.json` says; `None` before the thread began.
    ///
    /// It claims nothing of the transcript, because the reader of a file does not know how much of it is on disk. Its state is
    /// `Running` or `Suspended` as long as the transcript has no end.
    #[must_use]
    pub fn from_transcript(reading: &Reading) -> Option<Self> {
        let first = reading.records.first().filter(|record| record.event == "thread_start")?;
        let StartDisk { created, root, parent, continues, provider, model, limits, facts } =
            serde_json::from_str(first.payload.get()).ok()?;
        let thread = |text: Option<String>| text.map(|it| it.parse::<ThreadId>()).transpose().ok();
        let limits = limits.into_limits();
        let limits = recorded_limits(reading).map_or(limits, |recorded| recorded.last);
        let created = created.parse::<Moment>().ok()?;
        let mut record = Self::new(&first.thread, &first.directive, &limits, created);
        record.root = root.parse().ok()?;
        (record.parent, record.continues) = (thread(parent)?, thread(continues)?);
        (record.provider, record.model) = answering(reading, (provider, model));
        record.updated = reading.records.last().map_or(created, |last| last.at);
        record.facts = facts;
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
        let replies = reading.records.iter().filter(|record| record.event == "step_finish");
        for reply in replies {
            self.turns += 1;
            self.usage = self.usage.plus(&usage_of(reply));
        }
        self.cost = recorded_cost(reading);
    }
}

/// The tokens of an answer.
fn usage_of(record: &Record) -> Usage {
    let finish = serde_json::from_str::<FinishDisk>(record.payload.get()).ok();
    finish.map(|finish| finish.reply.usage.into_usage()).unwrap_or_default()
}

/// The provider and the model that answer: those of the beginning, or the fallback. A thread that never began has none.
fn answering(reading: &Reading, first: (String, String)) -> (Option<String>, Option<String>) {
    let fallback = reading.records.iter().rev().find(|record| record.event == "model_fallback");
    let fallback = fallback.and_then(|it| serde_json::from_str::<ModelDisk>(it.payload.get()).ok());
    let (provider, model) = fallback.map_or(first, |it| (it.provider, it.model));
    let named = |name: String| Some(name).filter(|name| !name.is_empty());
    (named(provider), named(model))
}

#[derive(Deserialize)]
struct StartDisk {
    created: String,
    root: String,
    parent: Option<String>,
    continues: Option<String>,
    provider: String,
    model: String,
    limits: LimitsDisk,
    facts: Map<String, Value>,
}

#[derive(Deserialize)]
struct ModelDisk {
    provider: String,
    model: String,
}

#[derive(Deserialize)]
struct FinishDisk {
    reply: ReplyUsageDisk,
}

#[derive(Deserialize)]
struct ReplyUsageDisk {
    usage: UsageDisk,
}
