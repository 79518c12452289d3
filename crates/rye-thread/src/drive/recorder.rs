//! The owner of the records of a thread: what is recorded, and when it is on disk.

use std::time::Duration;

use rye_types::Moment;

use super::stop::Stop;
use super::time::ThreadTime;
use super::warnings::{add_new, of_event};
use crate::transcript::Event;
use crate::transcript::payload::Said;
use crate::{Clock, Journal, JournalError, Message, Observer, Outcome, Run};

/// Records the events of one thread and tells the observer of them.
pub(super) struct Recorder<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) time: ThreadTime<'a>,
    clock: &'a dyn Clock,
    observer: &'a dyn Observer,
    /// The warnings about what was recorded.
    warnings: Vec<String>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        journal: &'a mut Journal,
        clock: &'a dyn Clock,
        observer: &'a dyn Observer,
        before: Duration,
    ) -> Self {
        let time = ThreadTime::new(clock, before);
        Self { journal, time, clock, observer, warnings: Vec::new() }
    }

    /// Records an event, which is written with the next [`Recorder::write`] or [`Recorder::sync`].
    pub(super) fn emit(&mut self, event: &Event) {
        add_new(&mut self.warnings, of_event(event));
        self.emit_late(event, self.clock.now());
    }

    /// Records an event of an earlier process at the time that was known then.
    pub(super) fn emit_late(&mut self, event: &Event, at: Moment) {
        self.journal.append(event, at);
        self.tell(event);
    }

    /// Leaves an approval wait out of the thread's time, and records it so that a resumed run does the same.
    pub(super) fn exclude_wait(&mut self, wait: Duration) {
        self.time.exclude(wait);
        self.journal.add_approval_wait(wait);
    }

    /// Records the last message, where it is the user's.
    pub(super) fn record_user_text(&mut self, run: &Run) {
        if let Some(Message::User { text }) = run.messages().last() {
            self.emit(&Event::UserMessage(Said { text: text.clone() }));
        }
    }

    /// Signs what is recorded.
    pub(super) fn checkpoint(&mut self) {
        let event = self.journal.checkpoint(self.clock.now());
        self.tell(&event);
    }

    /// Tells the observer of the last record.
    fn tell(&self, event: &Event) {
        self.observer.record(self.journal.newest());
        self.observer.event(event);
    }

    /// Signs what is recorded and puts it on disk, before a person is waited for or the thread ends.
    pub(super) async fn seal(&mut self) -> Result<(), Stop> {
        self.checkpoint();
        self.sync().await
    }

    /// Writes what is recorded, so that it outlives the program.
    pub(super) fn write(&mut self) -> Result<(), Stop> {
        Ok(self.journal.flush()?)
    }

    /// Puts what is recorded on disk, so that it outlives the machine's power.
    pub(super) async fn sync(&mut self) -> Result<(), Stop> {
        Ok(self.journal.sync_unblocked().await?)
    }

    /// Notes in `thread.json` what became of the thread.
    pub(super) async fn finish(&mut self, outcome: &Outcome) -> Result<(), JournalError> {
        self.journal.finish(outcome, self.clock.now()).await
    }

    /// Takes over the warnings about the records of earlier processes.
    pub(super) fn take_over(&mut self, warnings: Vec<String>) {
        self.warnings = warnings;
    }

    /// Returns all warnings about what was recorded.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(self.journal.warnings()).collect()
    }
}
