//! The state of a run.

use std::collections::BTreeMap;

use strum::IntoStaticStr;

use super::decide;
use super::end::End;
use crate::{Decision, ToolCall};

/// The input for which a run waits.
#[derive(Debug, Clone, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Phase {
    Ready,
    Asked,
    Calling(Batch),
    Waiting { batch: Batch, index: usize },
    Done(End),
}

/// The calls of one reply, and the decisions about them by index.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) calls: Vec<ToolCall>,
    pub(super) decisions: BTreeMap<usize, Decision>,
}

impl Batch {
    pub(super) const fn new(calls: Vec<ToolCall>) -> Self {
        Self { calls, decisions: BTreeMap::new() }
    }

    /// Returns the call at this index. Calls of `directive_return` are not counted.
    pub(super) fn call(&self, index: usize) -> Option<&ToolCall> {
        self.calls.iter().filter(|call| !decide::is_return(call)).nth(index)
    }
}

impl Phase {
    pub(super) fn name(&self) -> &'static str {
        self.into()
    }
}
