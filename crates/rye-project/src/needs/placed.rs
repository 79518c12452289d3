//! The calls of steps, with what is known of the directive's inputs in the place of their placeholders.

use std::collections::BTreeMap;

use rye_parse::{Action, Directive, Spanned};
use rye_prompt::known_steps;
use serde_json::Value;

/// The values of inputs by name, as far as they are given. Defaults stand in for the others.
pub type GivenInputs = BTreeMap<String, Value>;

/// A call of a step.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StepCall<'d> {
    /// The name of the step; its place from 1, where it has none.
    pub step: String,
    /// The call as the directive has it.
    pub written: &'d Action,
    /// The call as a run with these inputs makes it, at its place in the file. What is not known stays as written.
    pub placed: Spanned<Action>,
}

/// Returns the calls of the steps of a directive, in order.
#[must_use]
pub fn step_calls<'d>(directive: &'d Directive, given: &GivenInputs) -> Vec<StepCall<'d>> {
    let written = directive.steps.iter().map(|step| &step.value);
    let steps = (1..).zip(written.zip(known_steps(directive, given)));
    let calls = steps.flat_map(|(place, (written, step))| {
        let name = step.name.unwrap_or_else(|| place.to_string());
        let actions = written.actions.iter().map(|action| &action.value).zip(step.actions);
        actions.map(move |(written, placed)| StepCall { step: name.clone(), written, placed })
    });
    calls.collect()
}
