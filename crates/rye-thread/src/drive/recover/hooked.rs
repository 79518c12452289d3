//! The acts of hooks from a transcript: applied to the run if they have finished, and kept if not.

use super::{Fold, text};
use crate::drive::hooks::{Entry, Frame, apply};
use crate::{HookEvent, Message};

impl Fold {
    /// Keeps a record of a hook until something shows that its turn is over.
    pub(super) fn of_hook(&mut self, entry: Entry) -> Result<(), String> {
        if let Entry::Triggered(frame) = &entry
            && self.log.is_empty()
        {
            self.fail_first(frame)?;
        }
        if self.log.is_empty() && !matches!(entry, Entry::Triggered(_)) {
            return Err("no hook was triggered".to_owned());
        }
        self.log.0.push_back(entry);
        Ok(())
    }

    /// Does to the run what hooks decided whose turn is over.
    pub(super) fn hooks_over(&mut self) -> Result<(), String> {
        for mut frames in self.log.over() {
            self.due.answer(&mut frames);
            let Some(first) = frames.first() else { continue };
            self.evaluations = first.evaluation;
            self.fail_first(first)?;
            self.due.note_event(first.event, self.run.turns(), first.is_final);
            self.due.has_ended |= first.event == HookEvent::AfterComplete;
            if first.is_final && first.event != HookEvent::ContextLimitReached {
                self.due.failure.clone_from(&first.failure);
            }
            let before = self.run.messages().len();
            if let Some(reason) = apply(&mut self.run, &frames).map_err(text)? {
                self.unwanted = Some(reason);
            }
            self.due.note_actions(&self.run, &frames);
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
    fn fail_first(&mut self, frame: &Frame) -> Result<(), String> {
        match &frame.failure {
            Some(failure) if frame.is_final && !self.run.has_ended() => {
                self.run.fail(failure.clone()).map_err(text)
            }
            _ => Ok(()),
        }
    }
}
