//! Parsing of `<inputs>` and `<outputs>`.

use std::{borrow::Cow, collections::BTreeSet};

use rye_types::ValueType;

use super::{DictOutput, Input, Output, Outputs};
use crate::{
    Problem, ProblemKind, Spanned,
    name::is_name,
    problem::Report,
    xml::{Element, expect},
};

/// Parses `<inputs>`.
pub(in crate::directive) fn inputs(
    report: &mut Report<'_>,
    element: &Element<'_>,
) -> Vec<Spanned<Input>> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut inputs = Vec::new();
    let mut names = BTreeSet::new();
    for child in element.elements() {
        if child.name.value != "input" {
            expect::unknown_child(report, element, child, &["input"]);
        } else if let Some(input) = input(report, child, &mut names) {
            inputs.push(Spanned::new(input, child.span.clone()));
        }
    }
    inputs
}

/// Parses `<outputs>` in one of its two forms.
pub(in crate::directive) fn outputs(report: &mut Report<'_>, element: &Element<'_>) -> Outputs {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut names = BTreeSet::new();
    let Some(first) = element.elements().next() else { return Outputs::None };
    let is_list = first.name.value == "output";
    if let Some(other) = element.elements().find(|child| (child.name.value == "output") != is_list)
    {
        let known = if is_list { other } else { first };
        let kind = ProblemKind::MixedOutputs { name: known.name.value.to_owned() };
        let problem = Problem::new(kind, other.name.span.clone(), "another form than above");
        report.error(problem.help("write `<output name=\"…\">` for each, or none"));
        return Outputs::None;
    }
    if is_list {
        let read =
            |child| Some(Spanned::new(output(report, child, &mut names)?, child.span.clone()));
        return Outputs::List(element.elements().filter_map(read).collect());
    }
    let read =
        |child| Some(Spanned::new(dict_output(report, child, &mut names)?, child.span.clone()));
    Outputs::Dict(element.elements().filter_map(read).collect())
}

fn input<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    names: &mut BTreeSet<&'e str>,
) -> Option<Input> {
    expect::attributes(report, element, &["name", "type", "required", "default", "enum"]);
    let name = name(report, element, "input", names);
    let value_type = value_type(report, element);
    let required = expect::flag(report, element, "required");
    let choices = choices(report, element);
    let description = expect::text(report, element).value;
    let default = element.attribute("default").cloned().map(|text| text.map(Cow::into_owned));
    Some(Input { name: name?, value_type, required, default, choices, description })
}

fn output<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    names: &mut BTreeSet<&'e str>,
) -> Option<Output> {
    expect::attributes(report, element, &["name", "type", "required"]);
    let name = name(report, element, "output", names);
    let value_type = value_type(report, element);
    let required = expect::flag(report, element, "required");
    let description = expect::text(report, element).value;
    Some(Output { name: name?, value_type, required, description })
}

fn dict_output<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    names: &mut BTreeSet<&'e str>,
) -> Option<DictOutput> {
    expect::attributes(report, element, &[]);
    let text = expect::text(report, element).value;
    let name = unique(report, "output", element.name.clone(), names)?;
    Some(DictOutput { name: name.value, text })
}

fn name<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    what: &str,
    names: &mut BTreeSet<&'e str>,
) -> Option<Spanned<String>> {
    let name = expect::require_str(report, element, "name")?;
    if !is_name(name.value) {
        expect::bad_value(report, "name", &name, "letters, digits, `_` and `-`");
        return None;
    }
    unique(report, what, name, names)
}

fn unique<'e>(
    report: &mut Report<'_>,
    what: &str,
    name: Spanned<&'e str>,
    names: &mut BTreeSet<&'e str>,
) -> Option<Spanned<String>> {
    if names.insert(name.value) {
        return Some(name.map(str::to_owned));
    }
    let kind = ProblemKind::Duplicate { what: format!("{what} `{}`", name.value) };
    report.error(
        Problem::new(kind, name.span, "declared before").help("rename or remove one of them"),
    );
    None
}

fn value_type(report: &mut Report<'_>, element: &Element<'_>) -> ValueType {
    expect::optional_str(report, element, "type")
        .and_then(|text| expect::word(report, "type", &text))
        .unwrap_or_default()
}

/// Parses `enum="a,b"` and trims each part.
fn choices(report: &mut Report<'_>, element: &Element<'_>) -> Vec<String> {
    let Some(text) = expect::optional(report, element, "enum") else { return Vec::new() };
    let choices: Vec<String> =
        text.value.split(',').map(|choice| choice.trim().to_owned()).collect();
    if choices.iter().any(String::is_empty) {
        expect::bad_value(report, "enum", &text, "a list such as `a,b`");
        return Vec::new();
    }
    choices
}
