//! The events whose hooks have not acted yet.

use rye_types::{HookEffect, HookEvent, Limit, LimitHit};

use super::data::may_be_told;
use super::{Frame, Occasion};
use crate::{Decision, End, Failure, FailureKind, Hook, ProviderErrorClass, Refusal, Run};

/// The events that wait for the next moment at which a request could be sent, or the thread could end.
#[derive(Debug, Default)]
pub(in crate::drive) struct Due {
    /// `true` if hooks have acted at the thread's beginning.
    pub(in crate::drive) has_begun: bool,
    /// Calls of the last turn that were refused.
    pub(in crate::drive) refused: Vec<Refusal>,
    /// The limits that kept calls of the last turn from starting threads.
    pub(in crate::drive) limited: Vec<LimitHit>,
    /// `true` if a turn is over.
    pub(in crate::drive) step: bool,
    /// The limits whose raise was refused, each with its value then.
    pub(in crate::drive) refused_more: Vec<(Limit, u64)>,
    /// The number of turns after which the size of the conversation was last compared with the context window.
    pub(in crate::drive) measured: u64,
    /// The failure that was the event of the hooks.
    pub(in crate::drive) failure: Option<Failure>,
    /// The hooks that acted at an event which then became the thread's failure, by name and source.
    pub(in crate::drive) heard: Vec<(String, String)>,
    /// `true` if the event of a conversation that was refused for its length has reached the hooks.
    pub(in crate::drive) overflow: bool,
    /// `true` if the event of the end has reached the hooks.
    pub(in crate::drive) has_ended: bool,
    /// The reason of a thread that a hook aborted.
    pub(in crate::drive) aborted: Option<Failure>,
}

impl Due {
    /// A turn is over, in which these calls were refused, and these limits kept threads from being started.
    pub(in crate::drive) fn turn_over(&mut self, refused: &[Refusal], limited: Vec<LimitHit>) {
        (self.step, self.refused, self.limited) = (true, refused.to_vec(), limited);
    }

    /// Forgets the end of a thread that is resumed after it, so that its next end is an event for the hooks, too.
    pub(in crate::drive) fn note_reopening(&mut self) {
        self.heard.clear();
        (self.failure, self.overflow, self.has_ended) = (None, false, false);
    }

    /// A request is sent, so that everything before it had its turn.
    pub(in crate::drive) fn note_request(&mut self, turns: u64) {
        (self.has_begun, self.step, self.measured) = (true, false, turns);
        self.refused.clear();
        self.limited.clear();
    }

    /// Hooks had their turn.
    pub(in crate::drive) fn note_event(&mut self, event: HookEvent, turns: u64, is_final: bool) {
        match event {
            HookEvent::AfterStep => self.step = false,
            HookEvent::ContextLimitReached if is_final => self.overflow = true,
            HookEvent::ContextLimitReached => self.measured = turns,
            HookEvent::Error if !is_final && !self.refused.is_empty() => {
                drop(self.refused.remove(0));
            }
            HookEvent::Limit if !is_final && !self.limited.is_empty() => {
                let _told = self.limited.remove(0);
            }
            HookEvent::ThreadContinued | HookEvent::ThreadStarted => self.has_begun = true,
            _ => {}
        }
    }

    /// Returns the earlier decision on a hook's question. A refused raise of a limit is not asked
    /// about again while the limit has the same value.
    pub(super) fn earlier_decision(&self, frame: &Frame) -> Option<Decision> {
        let limit = frame.asks_about()?;
        self.refused_more.contains(&limit).then_some(Decision::DENIED)
    }

    /// Gives the earlier decisions to hooks that have acted without a new question.
    pub(in crate::drive) fn answer(&self, frames: &mut [Frame]) {
        for frame in frames.iter_mut().filter(|frame| frame.decision.is_none()) {
            frame.decision = self.earlier_decision(frame);
        }
    }

    /// Hooks acted, and this has become of the run.
    pub(in crate::drive) fn note_actions(&mut self, run: &Run, frames: &[Frame]) {
        self.limited.retain(|hit| run.stands_at(hit));
        // Hooks cancel a run by this effect alone, and the first one wins.
        let aborting =
            frames.iter().find(|frame| frame.triggered.effect == Some(HookEffect::Abort));
        if let Some(frame) = aborting.filter(|_| run.is_cancelled()) {
            self.aborted = Some(frame.failure("aborted the thread"));
        }
        for frame in frames.iter().filter(|frame| frame.is_denied()) {
            let is_new = self.earlier_decision(frame).is_none();
            self.refused_more.extend(frame.asks_about().filter(|_| is_new));
        }
        let Some(failure) = run.failure() else { return self.heard.clear() };
        let told = |frame: &&Frame| {
            !frame.triggered.is_final && frame.triggered.failure.as_ref() == Some(failure)
        };
        let names =
            |frame: &Frame| (frame.triggered.hook.clone(), frame.triggered.declared_by.clone());
        self.heard.extend(frames.iter().filter(told).map(names));
    }

    /// Returns `true` if the hook has not acted at the failure that ends the thread.
    pub(super) fn is_news(&self, occasion: &Occasion, hook: &Hook) -> bool {
        let is_same = |it: &(String, String)| it.0 == hook.id && it.1 == hook.declared_by;
        !matches!(occasion, Occasion::Fails(_)) || !self.heard.iter().any(is_same)
    }

    /// That the conversation was refused for its length, unless it is the opening that is too long.
    pub(super) fn overflow(&self, run: &Run, end: &End) -> Option<Failure> {
        let too_long = FailureKind::Provider(ProviderErrorClass::ContextTooLong);
        match end {
            End::Failed(failure) if failure.kind == too_long && run.turns() > 0 => {
                (!self.overflow).then(|| failure.clone())
            }
            _ => None,
        }
    }

    /// Returns `true` if hooks have to act before the end of this run is recorded.
    pub(in crate::drive) fn has_hooks_before(&self, end: &End) -> bool {
        match end {
            End::Completed { .. } => !self.has_ended,
            End::Failed(failure) if may_be_told(failure) => {
                !self.has_ended || self.failure.as_ref() != Some(failure)
            }
            _ => false,
        }
    }
}
