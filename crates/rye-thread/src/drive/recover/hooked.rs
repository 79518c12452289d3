//! The acts of hooks from a transcript: applied to the run if they have finished, and kept if not.

use rye_types::HookEvent;

use super::{Recovered, is_call_of_hook, text};
use crate::Message;
use crate::drive::hooks::{Frame, apply};
use crate::transcript::Event;
use crate::transcript::payload::Triggered;

impl Recovered {
    /// Returns `true` for an act of a hook, and for what operators say about hooks that have not finished.
    pub(super) fn is_of_hook(&self, event: &Event) -> bool {
        match event {
            Event::HookTriggered(_) => true,
            Event::ApprovalDecided(_) | Event::ApprovalRequested(_) => !self.log.is_empty(),
            _ => is_call_of_hook(event),
        }
    }

    /// Keeps a record of a hook until something shows that its turn is over.
    pub(super) fn of_hook(&mut self, event: Event) -> Result<(), String> {
        match &event {
            _ if !self.log.is_empty() => {}
            Event::HookTriggered(triggered) => self.fail_first(triggered)?,
            _ => return Err("no hook was triggered".to_owned()),
        }
        self.log.0.push_back(event);
        Ok(())
    }

    /// Does to the run what hooks decided whose turn is over.
    pub(super) fn hooks_over(&mut self) -> Result<(), String> {
        let is_same =
            |one: &Frame, next: &Frame| one.triggered.evaluation == next.triggered.evaluation;
        for frames in self.log.over().chunk_by_mut(is_same) {
            self.due.answer(frames);
            let Some(Frame { triggered: first, .. }) = frames.first() else { continue };
            self.evaluations = first.evaluation;
            self.fail_first(first)?;
            self.due.note_event(first.event, self.run.turns(), first.is_final);
            self.due.has_ended |= first.event == HookEvent::AfterComplete;
            if first.is_final && first.event != HookEvent::ContextLimitReached {
                self.due.failure.clone_from(&first.failure);
            }
            let before = self.run.messages().len();
            if let Some(reason) = apply(&mut self.run, frames).map_err(text)? {
                self.unwanted = Some(reason);
            }
            self.due.note_actions(&self.run, frames);
            self.texts_since(before);
            if !self.run.has_ended() {
                self.due.failure = None;
            }
        }
        Ok(())
    }

    /// Texts that the run got and that are recorded next.
    pub(super) fn texts_since(&mut self, before: usize) {
        let texts = self.run.messages().iter().skip(before).filter_map(|message| match message {
            Message::User { text } => Some(text.clone()),
            _ => None,
        });
        self.texts_due.extend(texts);
    }

    /// The record of the first hook that acts on a failure names the failure.
    fn fail_first(&mut self, triggered: &Triggered) -> Result<(), String> {
        match &triggered.failure {
            Some(failure) if triggered.is_final && !self.run.has_ended() => {
                self.run.fail(failure.clone()).map_err(text)
            }
            _ => Ok(()),
        }
    }
}
