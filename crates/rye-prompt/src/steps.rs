//! Structured steps with inputs placed (SPEC 3.9, 6.2, 10.13).

use std::collections::BTreeMap;

use rye_parse::{Action, Directive, Step};
use serde_json::Value;

use crate::placement::{Part, Placer};
use crate::{Inputs, RenderError};

/// Returns the steps of a directive with the inputs placed.
///
/// Inputs are placed into descriptions and into every text of an action, including parameters at any depth. A parameter
/// that consists of one placeholder becomes the value itself: `{input:count}` becomes the number 3, not the text `3`.
/// `${steps.…}` stays as written, to be replaced when the results exist. Nothing is escaped, because a parameter is
/// data and not inside a frame.
///
/// # Errors
///
/// Reports all problems at once: placeholders of undeclared inputs, and of required inputs without a value.
pub fn steps(directive: &Directive, inputs: &Inputs) -> Result<Vec<Step>, RenderError> {
    let mut placer = Placer::new(directive, inputs);
    let steps = directive.steps.iter().map(|step| step.value.clone()).enumerate();
    let steps =
        steps.map(|(index, step)| place_step(step, &mut placer, &Part::Step(index + 1))).collect();
    placer.finish().map(|()| steps)
}

/// Returns the steps of a directive with what is known of its inputs placed, before a run gives them all.
///
/// An input is known by its value in `given`, else by its default. The placeholder of any other stays as written: of one without
/// a value, of one whose value is not of the declared type, and of one whose given value has a placeholder itself.
pub fn known_steps(directive: &Directive, given: &BTreeMap<String, Value>) -> Vec<Step> {
    let inputs = Inputs::bind_known(&directive.inputs, given);
    let mut placer = Placer::new(directive, &inputs);
    let steps = directive.steps.iter().map(|step| step.value.clone()).enumerate();
    steps.map(|(index, step)| place_step(step, &mut placer, &Part::Step(index + 1))).collect()
}

fn place_step(mut step: Step, placer: &mut Placer<'_>, part: &Part) -> Step {
    step.description = placer.place(&step.description, part).verbatim();
    for action in &mut step.actions {
        place_action(&mut action.value, placer, part);
    }
    step
}

fn place_action(action: &mut Action, placer: &mut Placer<'_>, part: &Part) {
    let attributes =
        [&mut action.item_type, &mut action.item_id, &mut action.query, &mut action.scope];
    for attribute in attributes.into_iter().flatten() {
        *attribute = placer.place(attribute, part).verbatim();
    }
    for argument in action.parameters.values_mut().chain(action.options.values_mut()) {
        *argument = placer.place_json(argument, part);
    }
}
