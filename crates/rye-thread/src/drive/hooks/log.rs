//! The recorded acts of hooks that have not finished, so that no act is repeated.

use std::collections::VecDeque;

use super::{Acted, Frame};
use crate::transcript::Event;
use crate::transcript::payload::{Decided, Intent};
use crate::{Decision, ToolResult};

/// The slot of a text that did not go into the opening.
pub(in crate::drive) const IN_A_TURN: &str = "turn";

/// The recorded events of hooks, oldest first.
#[derive(Debug, Default)]
pub(in crate::drive) struct Log(pub(in crate::drive) VecDeque<Event>);

impl Log {
    pub(in crate::drive) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next event, which must be this one. Returns `false` when all are used up.
    pub(super) fn take(&mut self, event: &Event) -> Result<bool, String> {
        match self.0.pop_front() {
            None => Ok(false),
            Some(recorded) if is_same_act(&recorded, event) => Ok(true),
            Some(_) => Err(format!(
                "the transcript holds another act of a hook where `{}` is due; start the directive again",
                event.name()
            )),
        }
    }

    /// Takes the next event if it is a receipt.
    pub(super) fn receipt(&mut self) -> Option<ToolResult> {
        self.take_part(|event| match event {
            Event::ToolCallResult(receipt) => Some(receipt.clone().into_result()),
            _ => None,
        })
    }

    /// Returns `true` if the next event is a question to the operator.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.0.front(), Some(Event::ApprovalRequested(_)))
    }

    /// Takes the next event if it is a question to the operator, and returns `true` then.
    pub(super) fn take_question(&mut self) -> bool {
        let is_next = self.is_asked();
        if is_next {
            drop(self.0.pop_front());
        }
        is_next
    }

    /// Takes the next event if it is a decision.
    pub(super) fn decision(&mut self) -> Option<Decision> {
        self.take_part(|event| match event {
            Event::ApprovalDecided(Decided { decision, .. }) => Some(decision.clone()),
            _ => None,
        })
    }

    /// Takes the next event if it has the wanted part, and returns the part.
    fn take_part<T>(&mut self, part: impl FnOnce(&Event) -> Option<T>) -> Option<T> {
        let part = part(self.0.front()?)?;
        drop(self.0.pop_front());
        Some(part)
    }

    /// Takes all events as hooks that acted: for a turn of hooks that is known to be over.
    pub(in crate::drive) fn over(&mut self) -> Vec<Frame> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut open: Option<(String, bool)> = None;
        for event in self.0.drain(..) {
            match (event, frames.last_mut()) {
                (Event::HookTriggered(triggered), _) => frames.push(Frame::new(triggered)),
                (Event::ToolCallStart(Intent { target, injects, .. }), last) => {
                    let item = target.map(|target| target.item_id).unwrap_or_default();
                    open = Some((item, injects.unwrap_or_default()));
                    last.into_iter().for_each(Frame::acts_on);
                }
                (Event::ToolCallResult(receipt), Some(frame)) => {
                    let (item, injects) = open.take().unwrap_or_default();
                    frame.acts_on();
                    frame.acted.push(Acted::new(&item, injects, receipt.into_result()));
                }
                // The decision on an action is followed by its start or its receipt, that on the thread by nothing of the hook.
                (Event::ApprovalDecided(Decided { decision, .. }), Some(frame)) => {
                    frame.decision = Some(decision);
                }
                _ => {}
            }
        }
        frames
    }
}

/// Returns `true` if the recorded event is the start or the match of the same hook.
fn is_same_act(recorded: &Event, event: &Event) -> bool {
    match (recorded, event) {
        (Event::ToolCallStart(own), Event::ToolCallStart(intent)) => own.hook == intent.hook,
        (Event::HookTriggered(own), Event::HookTriggered(triggered)) => {
            own.hook == triggered.hook && own.event == triggered.event
        }
        _ => false,
    }
}
