//! What a driver records, and when it is on disk.

use std::collections::BTreeMap;

use super::Driver;
use super::stop::Stop;
use super::warnings::of_event;
use crate::transcript::Event;
use crate::{Message, Run};

impl Driver<'_> {
    pub(super) fn record_opening(&mut self, run: &Run) {
        self.opening(run).iter().for_each(|event| self.emit(event));
    }

    /// What is recorded before the first request.
    pub(super) fn opening(&self, run: &Run) -> Vec<Event> {
        let names = self.context.palette.names();
        let palette: BTreeMap<String, String> =
            names.map(|(name, id)| (name.to_owned(), id.to_owned())).collect();
        let facts = self.context.journal.record().facts.clone();
        let (provider, limits, tools) =
            (self.info.clone(), run.limits().clone(), run.tools().to_vec());
        let signed_by = self.context.journal.signing_key().public().to_pem();
        let root = self.context.journal.record().root.clone();
        let start = Event::ThreadStart { provider, limits, tools, palette, facts, root, signed_by };
        let system = run.system().map(|text| Event::SystemPrompt { text: text.to_owned() });
        let injected = self.context.injected.iter().cloned().map(Event::ContextInjected);
        let first = run.messages().iter().map_while(|message| match message {
            Message::User { text } => Some(Event::UserMessage { text: text.clone() }),
            _ => None,
        });
        std::iter::once(start).chain(system).chain(injected).chain(first).collect()
    }

    /// Records the last message, where it is the user's.
    pub(super) fn record_user_text(&mut self, run: &Run) {
        if let Some(Message::User { text }) = run.messages().last() {
            self.emit(&Event::UserMessage { text: text.clone() });
        }
    }

    pub(super) fn emit(&mut self, event: &Event) {
        self.context.journal.append(event, self.context.clock.now());
        self.warnings.extend(of_event(event));
        self.tell(event);
    }

    /// Signs what is recorded.
    pub(super) fn checkpoint(&mut self) {
        let event = self.context.journal.checkpoint(self.context.clock.now());
        self.tell(&event);
    }

    /// Tells the observer of what was recorded last.
    pub(super) fn tell(&self, event: &Event) {
        self.context.observer.record(self.context.journal.newest());
        self.context.observer.event(event);
    }

    /// Signs what is recorded and puts it on disk, before somebody is waited for or the thread ends.
    pub(super) fn seal(&mut self) -> Result<(), Stop> {
        self.checkpoint();
        self.sync()
    }

    /// Writes what is recorded, so that it outlives the program.
    pub(super) fn write(&mut self) -> Result<(), Stop> {
        Ok(self.context.journal.flush()?)
    }

    /// Puts what is recorded on disk, so that it outlives the machine's power.
    pub(super) fn sync(&mut self) -> Result<(), Stop> {
        Ok(self.context.journal.sync()?)
    }
}
