//! A thread that another program ended while this one drove it.

use rye_thread::{FailureKind, Moment, Outcome, ThreadId, ThreadRecord, ThreadState};

use super::Store;
use super::reopen::{Again, ENDING};
use crate::Rye;

impl Rye {
    /// The outcome of a thread that could not be recorded any more, as whoever took the thread over recorded it, with a sentence
    /// about that; any other as it is.
    pub(super) fn as_recorded(
        &self,
        thread: &ThreadId,
        outcome: Outcome,
        store: &Store,
    ) -> (Outcome, Option<String>) {
        let kind = outcome.failure.as_ref().map(|failure| &failure.kind);
        if kind != Some(&FailureKind::Storage) {
            return (outcome, None);
        }
        match self.ended_elsewhere(thread, store) {
            Some(record) if record.failure != outcome.failure => {
                let told = sentence(&record);
                (recorded(record, outcome), Some(told))
            }
            _ => (outcome, None),
        }
    }

    /// The record of a thread that has ended; who is about to end it is waited for.
    fn ended_elsewhere(&self, thread: &ThreadId, store: &Store) -> Option<ThreadRecord> {
        let mut again = Again::default();
        loop {
            let driver = store.threads.driver(thread, Moment::from_unix_millis(i64::MIN));
            let is_ending = driver.is_ok_and(|it| it.is_some_and(|driver| driver == ENDING));
            let record = self.found(&store.folder, thread).ok().map(|found| found.reading.record);
            // Whoever goes on with a conversation tells of it.
            let has_ended =
                |it: &ThreadRecord| it.state.is_final() && it.state != ThreadState::Continued;
            match record.filter(has_ended) {
                None if is_ending && again.looks() => {}
                ended => return ended,
            }
        }
    }
}

/// Whoever ended it may not have known of the last answers.
fn recorded(record: ThreadRecord, mut outcome: Outcome) -> Outcome {
    let ThreadRecord { state, turns, usage, cost, outputs, failure, .. } = record;
    (outcome.state, outcome.outputs, outcome.failure) = (state, outputs, failure);
    (outcome.cost, outcome.asked) = (cost, None);
    if outcome.turns < turns {
        (outcome.turns, outcome.usage) = (turns, usage);
    }
    outcome
}

fn sentence(record: &ThreadRecord) -> String {
    let thread = &record.thread;
    match record.state {
        ThreadState::Cancelled => format!("thread `{thread}` was cancelled by another program"),
        state => {
            format!(
                "thread `{thread}` was taken over by another program, where it came to `{state}`"
            )
        }
    }
}
