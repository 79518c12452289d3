//! Calls written as elements.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{Action, Primary};
use crate::{
    Problem, ProblemKind, Spanned,
    name::is_name,
    problem::Report,
    span::trim_range,
    xml::{Element, Node, expect},
};

/// The kinds of items that a call may name.
const ITEM_TYPES: [&str; 3] = ["tool", "directive", "knowledge"];

/// Parses `<execute item_type item_id …>`, `<search …>` and so on.
pub(crate) fn read(
    report: &mut Report<'_>,
    element: &Element<'_>,
    primary: Primary,
) -> Spanned<Action> {
    let mut action = Action::new(primary);
    for attribute in &element.attributes {
        let name = attribute.name.value;
        let text = attribute.value.value.clone().into_owned();
        match name {
            "item_type" => action.item_type = Some(text),
            "item_id" => action.item_id = Some(text),
            "query" => action.query = Some(text),
            "scope" => action.scope = Some(text),
            "primary" if element.name.value == "action" => {}
            _ => drop(action.options.insert(name.to_owned(), Value::String(text))),
        }
    }
    let mut names = BTreeSet::new();
    for node in &element.children {
        match node {
            Node::Text(text) => id_text(report, element, text, &mut action),
            Node::Element(child) => {
                parameter(report, element, child, &mut action.parameters, &mut names)
            }
        }
    }
    if let Some(text) = element.attribute("item_type") {
        check_item_type(report, text);
    }
    Spanned::new(action, element.span.clone())
}

/// Parses `<inputs>`: `<input name="x">value</input>` or `<x>value</x>`.
pub(crate) fn inputs(
    report: &mut Report<'_>,
    element: &Element<'_>,
    parameters: &mut Map<String, Value>,
) {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut names: BTreeSet<String> = parameters.keys().cloned().collect();
    for child in element.elements() {
        if matches!(child.name.value, "input" | "param") {
            named_parameter(report, child, parameters, &mut names);
        } else {
            expect::attributes(report, child, &[]);
            let value = expect::value(report, child);
            insert(report, child.name.clone().map(str::to_owned), value, parameters, &mut names);
        }
    }
}

/// Reads the text beside the parameters as the item's id, as in `<execute item_type="directive">a/b</execute>`.
fn id_text(
    report: &mut Report<'_>,
    element: &Element<'_>,
    text: &Spanned<Cow<'_, str>>,
    action: &mut Action,
) {
    let value = text.value.trim();
    if value.is_empty() {
        return;
    }
    if action.item_id.is_none() && !value.contains(char::is_whitespace) {
        action.item_id = Some(value.to_owned());
        return;
    }
    let kind = ProblemKind::UnexpectedText { element: element.name.value.to_owned() };
    let problem =
        Problem::new(kind, trim_range(report.source, text.span.clone()), "not read as a parameter");
    report.error(problem.help("write `<param name=\"…\">…</param>`"));
}

fn parameter(
    report: &mut Report<'_>,
    element: &Element<'_>,
    child: &Element<'_>,
    parameters: &mut Map<String, Value>,
    names: &mut BTreeSet<String>,
) {
    match child.name.value {
        "param" => named_parameter(report, child, parameters, names),
        "inputs" => inputs(report, child, parameters),
        _ => expect::unknown_child(report, element, child, &["param", "inputs"]),
    }
}

/// Parses `<param name="x" value="1"/>` or `<param name="x">1</param>`.
fn named_parameter(
    report: &mut Report<'_>,
    element: &Element<'_>,
    parameters: &mut Map<String, Value>,
    names: &mut BTreeSet<String>,
) {
    expect::attributes(report, element, &["name", "value"]);
    let text = expect::value(report, element);
    let value = match element.attribute("value") {
        Some(value) if text.is_empty() => value.value.clone().into_owned(),
        Some(_) => {
            let kind =
                ProblemKind::Duplicate { what: format!("the value of `<{}>`", element.name.value) };
            let place = expect::text(report, element).span;
            let problem = Problem::new(kind, place, "a value beside the attribute");
            report.error(problem.help("write the value as `value=\"…\"` or as text, not both"));
            return;
        }
        None => text,
    };
    if let Some(name) = expect::require(report, element, "name") {
        insert(report, name, value, parameters, names);
    }
}

fn insert(
    report: &mut Report<'_>,
    name: Spanned<String>,
    value: String,
    parameters: &mut Map<String, Value>,
    names: &mut BTreeSet<String>,
) {
    if !is_name(&name.value) {
        expect::bad_value(report, "name", &name, "letters, digits, `_` and `-`");
    } else if !names.insert(name.value.clone()) {
        let kind = ProblemKind::Duplicate { what: format!("parameter `{}`", name.value) };
        report.error(Problem::new(kind, name.span, "declared before").help("keep one of them"));
    } else {
        parameters.insert(name.value, Value::String(value));
    }
}

/// Reports a kind that does not exist. A kind with a placeholder is not checked.
pub(crate) fn check_item_type(report: &mut Report<'_>, text: &Spanned<impl AsRef<str>>) {
    let item_type = text.value.as_ref();
    if !item_type.contains('{') && !ITEM_TYPES.contains(&item_type) {
        expect::unknown_word(report, "item type", text, &ITEM_TYPES);
    }
}
