//! The turns and steps of a run without a model, as far as they are known before (SPEC 10.13).

use rye_parse::Directive;

use super::calls::is_return;

/// The turns and steps of a run without a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    /// The steps with calls, each of which is one turn, without the last answer.
    pub(crate) turns: u64,
    /// The steps of executed directives.
    pub(crate) steps: usize,
    /// The depth to which directives execute others.
    pub(crate) depth: usize,
}

impl Walk {
    /// Returns the turns of a directive with this walk: one for each step with calls, and one for the last answer, unless a step returns
    /// the outputs.
    pub(crate) fn turns_of(self, directive: &Directive) -> u64 {
        let mut calls = directive.steps.iter().flat_map(|step| &step.value.actions);
        let has_last_answer = !calls.any(|action| is_return(&action.value));
        self.turns.saturating_add(u64::from(has_last_answer))
    }

    /// A directive that executes itself.
    pub(super) const ENDLESS: Self = Self { turns: 0, steps: 0, depth: usize::MAX };

    /// Adds the walk of a directive that is executed.
    pub(super) fn with_executed(self, executed: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(executed.turns),
            steps: self.steps.saturating_add(executed.steps),
            depth: self.depth.max(executed.depth.saturating_add(1)),
        }
    }
}
