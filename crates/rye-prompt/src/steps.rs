//! Structured steps with the inputs placed (SPEC 3.9, 6.2, 10.13).

use rye_parse::{Action, Directive, Step};

use crate::place::{Part, Placer};
use crate::{Inputs, RenderError};

/// The steps of a directive as they are to be carried out.
///
/// Inputs are placed into descriptions and into every text of an action, parameters at any depth
/// included. A parameter that is one placeholder and nothing else becomes the value itself:
/// `{input:count}` is the number 3, not the text `3`. `${steps.…}` stays as written, for whoever
/// has the results. Nothing is escaped: a parameter is data, and sits in no frame.
///
/// # Errors
///
/// All problems at once: placeholders of undeclared inputs, and of required inputs that have no
/// value.
pub fn steps(directive: &Directive, inputs: &Inputs) -> Result<Vec<Step>, RenderError> {
    let mut placer = Placer::new(directive, inputs);
    let steps = directive.steps.iter().map(|step| step.value.clone()).enumerate();
    let steps =
        steps.map(|(index, step)| placed(step, &mut placer, &Part::Step(index + 1))).collect();
    placer.finish().map(|()| steps)
}

fn placed(mut step: Step, placer: &mut Placer<'_>, part: &Part) -> Step {
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
