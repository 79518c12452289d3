//! Hooks in the loop: which of them match an event, in turn, and what comes of it (SPEC 10.3).

mod act;
mod conclude;
mod data;
mod due;
mod log;

pub(super) use self::conclude::{Acted, Frame, apply};
pub(super) use self::data::Occasion;
pub(super) use self::due::Due;
pub(super) use self::log::{Entry, Log};
use super::{Driver, Stop};
use crate::transcript::{Event, Injected, Triggered};
use crate::{Failure, FailureKind, Hook, HookEffect, HookLayer, Message, Run};

impl Driver<'_> {
    /// Has the hooks of an event act, and does to the run what they decide.
    ///
    /// Gives back why outputs are not accepted, where hooks decide so.
    pub(super) async fn evaluate(
        &mut self,
        run: &mut Run,
        occasion: &Occasion,
    ) -> Result<Option<String>, Stop> {
        let event = occasion.event();
        let number = self.evaluations + 1;
        if !self.hooks.listens(event) {
            return Ok(None);
        }
        let data = self.data(run, occasion);
        let mut matching = self.hooks.matching(event, &data);
        matching.retain(|hook| self.due.is_news(occasion, hook));
        let matching: Vec<Hook> = matching.into_iter().cloned().collect();
        if matching.is_empty() {
            return Ok(None);
        }
        self.evaluations = number;
        let mut frames = Vec::new();
        let mut is_decided = false;
        for hook in matching {
            if is_decided && hook.layer != HookLayer::Infrastructure {
                continue;
            }
            let triggered = triggered(&hook, occasion, number, &data);
            let mut frame = Frame::new(&triggered);
            self.logged(&Event::HookTriggered(triggered))?;
            self.act_all(run, &hook, &mut frame, frames.len()).await?;
            if !is_decided && frame.decides(run) {
                is_decided = true;
                self.escalate(&mut frame).await?;
            }
            frames.push(frame);
        }
        let before = run.messages().len();
        let unwanted = apply(run, &frames).map_err(Stop::from)?;
        self.due.acted(run, &frames);
        self.record_texts(run, before, &frames);
        Ok(unwanted)
    }

    /// Has the operator decide, if the hook asks for it and there is no decision yet.
    async fn escalate(&mut self, frame: &mut Frame) -> Result<(), Stop> {
        if frame.effect != Some(HookEffect::Escalate) {
            return Ok(());
        }
        if let Some(said) = self.due.said(frame).filter(|_| !self.log.is_asked()) {
            frame.decision = Some(said);
            return Ok(());
        }
        let request = self.escalation(frame);
        frame.decision = Some(self.have_decided(request).await?);
        Ok(())
    }

    /// Records what the user's side of the conversation got, and from which hooks.
    pub(super) fn record_texts(&mut self, run: &Run, before: usize, frames: &[Frame]) {
        let texts: Vec<String> = run
            .messages()
            .iter()
            .skip(before)
            .filter_map(|message| match message {
                Message::User { text } => Some(text.clone()),
                _ => None,
            })
            .collect();
        for text in texts {
            let by = frames.iter().find_map(|frame| {
                let acted = frame.acted.iter().find(|acted| acted.text() == Some(&text))?;
                Some((frame.hook.clone(), acted.item.clone()))
            });
            if let Some((hook, item)) = by {
                let digest = rye_sign::Digest::of(text.as_bytes()).to_string();
                let injected = Injected::new(Some(&item), IN_A_TURN, &digest).by_hook(&hook);
                self.recorder.emit(&Event::ContextInjected(injected));
            }
            self.recorder.emit(&Event::UserMessage { text });
        }
    }

    /// Records an event of a hook, unless the record of the program before this one has it.
    fn logged(&mut self, event: &Event) -> Result<Option<Entry>, Stop> {
        match self.log.take(event) {
            Ok(Some(entry)) => Ok(Some(entry)),
            Ok(None) => {
                self.recorder.emit(event);
                Ok(None)
            }
            Err(problem) => Err(Stop::Failed(Failure::new(FailureKind::Storage, &problem))),
        }
    }
}

/// The slot of a text that did not go into the opening.
pub(super) const IN_A_TURN: &str = "turn";

fn triggered(
    hook: &Hook,
    occasion: &Occasion,
    evaluation: u64,
    data: &serde_json::Value,
) -> Triggered {
    let (failure, is_final) = occasion.failure();
    Triggered {
        evaluation,
        event: hook.event,
        hook: hook.id.clone(),
        declared_by: hook.declared_by.clone(),
        layer: hook.layer.number(),
        effect: hook.effect,
        failure: failure.cloned(),
        is_final,
        data: data.clone(),
    }
}
