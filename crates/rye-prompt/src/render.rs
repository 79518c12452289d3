//! The directive prompt (SPEC 8.2).

mod returns;

use rye_parse::{Directive, Outputs};
use rye_types::ReturnStyle;

use crate::placement::{Part, Placed, Placer};
use crate::{Inputs, Link, RenderError};

/// Returns the directive prompt with the inputs placed.
///
/// `leaf` is the directive that runs. `permissions` is the raw `<permissions>…</permissions>` slice of the directive
/// that declares them, which may be an ancestor (SPEC D3, D5). Its placeholders refer to the inputs of the leaf.
///
/// # Errors
///
/// Reports all problems at once: placeholders of undeclared inputs, and of required inputs without a value.
pub fn render(
    leaf: Link<'_>,
    permissions: Option<&str>,
    inputs: &Inputs,
    style: ReturnStyle,
) -> Result<String, RenderError> {
    let mut placer = Placer::new(leaf.directive, inputs);
    let prompt =
        assemble(leaf.directive, permissions, style, &mut |text, part| placer.place(text, &part));
    placer.finish().map(|()| prompt)
}

/// Returns the directive prompt with its placeholders as written, which needs no inputs.
pub fn template(leaf: Link<'_>, permissions: Option<&str>, style: ReturnStyle) -> String {
    assemble(leaf.directive, permissions, style, &mut |text, _| Placed::literal(text))
}

/// Returns only the body, with the inputs placed, for callers that have the rest as data (SPEC D12).
///
/// # Errors
///
/// The ones of [`render`] that concern the body.
pub fn body(directive: &Directive, inputs: &Inputs) -> Result<String, RenderError> {
    let mut placer = Placer::new(directive, inputs);
    let body = placer.place(directive.body.value.trim(), &Part::Body).in_frame();
    placer.finish().map(|()| body)
}

/// Returns the outputs, with the inputs placed into their texts as in the prompt, for callers that have the rest as data (SPEC D16).
///
/// # Errors
///
/// The ones of [`render`] that concern the outputs.
pub fn outputs(directive: &Directive, inputs: &Inputs) -> Result<Outputs, RenderError> {
    let mut placer = Placer::new(directive, inputs);
    let mut outputs = directive.outputs.clone();
    let mut place = |text: &mut String| *text = placer.place(text, &Part::Outputs).in_frame();
    match &mut outputs {
        Outputs::List(outputs) => {
            outputs.iter_mut().for_each(|output| place(&mut output.value.description));
        }
        Outputs::Dict(outputs) => {
            outputs.iter_mut().for_each(|output| place(&mut output.value.text));
        }
        Outputs::None => {}
    }
    placer.finish().map(|()| outputs)
}

/// Joins the parts of SPEC 8.2 with newlines. Absent parts are left out.
fn assemble(
    directive: &Directive,
    permissions: Option<&str>,
    style: ReturnStyle,
    place: &mut dyn FnMut(&str, Part) -> Placed,
) -> String {
    let heading = heading(directive);
    let closing = heading.as_ref().map(|_| "</directive>".to_owned());
    let permissions = permissions.map(|raw| place(raw, Part::Permissions).in_element());
    let body = place(directive.body.value.trim(), Part::Body).in_frame();
    let returns = returns::instruction(&directive.outputs, style, &mut |text| {
        place(text, Part::Outputs).in_frame()
    });
    let parts = [heading, permissions, Some(body), returns, closing];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the opening tag and the description; `None` if there is neither a name nor a description.
fn heading(directive: &Directive) -> Option<String> {
    let name = Some(directive.name.value.as_str()).filter(|name| !name.is_empty());
    let description = directive.description.as_ref().map(|description| description.value.as_str());
    let description = description.filter(|description| !description.is_empty());
    let tag = name.map_or_else(
        || "<directive>".to_owned(),
        |name| format!("<directive name=\"{}\">", in_attribute(name)),
    );
    match (name, description) {
        (None, None) => None,
        (Some(_), None) => Some(tag),
        (_, Some(description)) => {
            Some(format!("{tag}\n<description>{}</description>", in_element(description)))
        }
    }
}

fn in_attribute(text: &str) -> String {
    text.replace('"', "&quot;")
}

fn in_element(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}
