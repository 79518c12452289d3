//! The recorded acts of hooks that have not finished, so that no act is repeated.

use std::collections::VecDeque;

use super::{Acted, Frame};
use crate::transcript::Event;
use crate::{Decision, Returned};

/// The slot of a text that did not go into the opening.
pub(in crate::drive) const IN_A_TURN: &str = "turn";

/// One record of a hook.
#[derive(Debug)]
pub(in crate::drive) enum Entry {
    Asked,
    Decided(Decision),
    Result { hook: String, returned: Returned },
    Start { hook: String, item: String, injects: bool },
    Triggered(Frame),
}

impl Entry {
    fn fits(&self, event: &Event) -> bool {
        match (self, event) {
            (Self::Asked, Event::ApprovalRequested(_))
            | (Self::Decided(_), Event::ApprovalDecided { .. }) => true,
            (Self::Result { hook: own, .. }, Event::HookCallResult { hook, .. })
            | (Self::Start { hook: own, .. }, Event::HookCallStart { hook, .. }) => own == hook,
            (Self::Triggered(frame), Event::HookTriggered(triggered)) => {
                frame.hook == triggered.hook && frame.event == triggered.event
            }
            _ => false,
        }
    }
}

/// The records, oldest first.
#[derive(Debug, Default)]
pub(in crate::drive) struct Log(pub(in crate::drive) VecDeque<Entry>);

impl Log {
    pub(in crate::drive) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next record, which must be of this event; `None` when all are used up.
    pub(super) fn take(&mut self, event: &Event) -> Result<Option<Entry>, String> {
        match self.0.pop_front() {
            None => Ok(None),
            Some(entry) if entry.fits(event) => Ok(Some(entry)),
            Some(_) => Err(format!(
                "the transcript holds another act of a hook where `{}` is due; start the directive again",
                event.name()
            )),
        }
    }

    /// The receipt that is next.
    pub(super) fn receipt(&mut self) -> Option<Returned> {
        match self.0.pop_front() {
            Some(Entry::Result { returned, .. }) => Some(returned),
            Some(other) => {
                self.0.push_front(other);
                None
            }
            None => None,
        }
    }

    /// Returns `true` if the next entry is a question to the operator.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.0.front(), Some(Entry::Asked))
    }

    /// Takes the next entry if it is a question to the operator, and returns `true` then.
    pub(super) fn take_question(&mut self) -> bool {
        let is_next = self.is_asked();
        if is_next {
            drop(self.0.pop_front());
        }
        is_next
    }

    /// The decision that is next.
    pub(super) fn decision(&mut self) -> Option<Decision> {
        match self.0.pop_front()? {
            Entry::Decided(decision) => Some(decision),
            other => {
                self.0.push_front(other);
                None
            }
        }
    }

    /// All records as hooks that acted, by event: for a turn of hooks that is known to be over.
    pub(in crate::drive) fn over(&mut self) -> Vec<Vec<Frame>> {
        let (mut events, mut open): (Vec<Vec<Frame>>, Option<(String, bool)>) = (Vec::new(), None);
        for entry in self.0.drain(..) {
            let last = events.last_mut().and_then(|frames| frames.last_mut());
            match (entry, last) {
                (Entry::Triggered(frame), _) => match events.last_mut() {
                    Some(frames)
                        if frames.last().is_some_and(|it| it.evaluation == frame.evaluation) =>
                    {
                        frames.push(frame);
                    }
                    _ => events.push(vec![frame]),
                },
                (Entry::Start { item, injects, .. }, last) => {
                    open = Some((item, injects));
                    last.into_iter().for_each(Frame::acts_on);
                }
                (Entry::Result { returned, .. }, Some(frame)) => {
                    let (item, injects) = open.take().unwrap_or_default();
                    frame.acts_on();
                    frame.acted.push(Acted::new(&item, injects, returned));
                }
                // The decision on an action is followed by its start or its receipt, that on the thread by nothing of the hook.
                (Entry::Decided(decision), Some(frame)) => frame.decision = Some(decision),
                _ => {}
            }
        }
        events
    }
}
