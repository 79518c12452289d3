//! What a run waits for.

use std::collections::BTreeMap;

use super::decide;
use super::end::End;
use crate::{Decision, ToolCall};

/// What the machine waits for.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    Ready,
    Asked,
    Calling(Batch),
    Waiting { batch: Batch, index: usize },
    Done(End),
}

/// The calls of one reply, and what somebody said about them by their place among those that are run.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) calls: Vec<ToolCall>,
    pub(super) decisions: BTreeMap<usize, Decision>,
}

impl Batch {
    pub(super) const fn new(calls: Vec<ToolCall>) -> Self {
        Self { calls, decisions: BTreeMap::new() }
    }

    /// The call that is run at this place; returning outputs is not.
    pub(super) fn call(&self, index: usize) -> Option<&ToolCall> {
        self.calls.iter().filter(|call| !decide::is_return(call)).nth(index)
    }
}

impl Phase {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Asked => "asked",
            Self::Calling(_) => "calling",
            Self::Waiting { .. } => "waiting",
            Self::Done(_) => "done",
        }
    }
}

/// How many tokens a provider counted for the first messages of the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) messages: usize,
    pub(super) tokens: u64,
}
