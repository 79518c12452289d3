//! Checks that apply to directives only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rye_parse::{
    ContextContent, ContextEntry, Directive, Hook, Input, Outputs, Placeholder, Problem,
    ProblemKind, Spanned, did_you_mean, nearest_name, placeholders,
};
use rye_prompt::Inputs;
use rye_resolve::{ItemId, declared_problems, permission_problems};

use super::{Finding, KEPT, LISTED, Severity, grants, placing};

pub(super) fn findings(directive: &Directive, source: &str, id: Option<&ItemId>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = directive.notes.iter().map(of_note).collect();
    findings.extend(id.into_iter().flat_map(|id| claims(directive, id)));
    findings.extend(extends(directive));
    findings.extend(permissions(directive));
    findings.extend(grants::of_form(directive));
    findings.extend(directive.inputs.iter().flat_map(unfit_choices));
    findings.extend(directive.inputs.iter().filter_map(unfit_default));
    findings.extend(other_currency(directive));
    findings.extend(undeclared_inputs(directive, source));
    findings.extend(placing::foreign_placeholders(directive, source));
    findings
        .extend(directive.context.iter().filter_map(|entry| unfilled_placeholder(entry, source)));
    findings.extend(directive.hooks.iter().flat_map(|hook| of_hook(&hook.value, source)));
    findings
}

/// A note of the parser. A call that cannot be read, or an element that is none, is probably not meant, and no run without a model
/// carries it out.
fn of_note(note: &Problem) -> Finding {
    match note.kind {
        ProblemKind::UnreadableStep { .. } | ProblemKind::UncalledElement { .. } => {
            Finding { severity: Severity::Warning, ..Finding::note(note) }
        }
        _ => Finding::note(note),
    }
}

/// A placeholder of an input in the text of a context entry, which no value is placed into.
fn unfilled_placeholder(entry: &Spanned<ContextEntry>, source: &str) -> Option<Finding> {
    let ContextContent::Inline(text) = &entry.value.content else { return None };
    let found = placeholders(text).into_iter().find_map(|found| input(&found.value))?;
    let message = format!(
        "no value is placed into the text of `<context>`, so that the placeholder of `{found}` stays as it is"
    );
    let finding =
        Finding::warning("unfilled-input", &message, place_in(source, &entry.span, &found));
    Some(finding.with_label("stays as it is").with_help("write it in the steps below the metadata"))
}

/// Placeholders of inputs in the parameters of a hook, which take parts of the event's data instead.
fn of_hook(hook: &Hook, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for action in &hook.actions {
        let text = serde_json::Value::Object(action.value.parameters.clone()).to_string();
        for found in placeholders(&text) {
            let is_of_data = text.get(found.span).is_some_and(|text| text.starts_with('$'));
            let Some(name) = input(&found.value).filter(|_| !is_of_data) else { continue };
            let by = &hook.id.value;
            let message = format!("hook `{by}`: no value is placed into `{{input:{name}}}` here");
            let help = format!("write `${{inputs.{name}}}`: hooks take parts of the event's data");
            let place = place_in(source, &action.span, &name);
            let finding = Finding::warning("unfilled-input", &message, place);
            findings.push(finding.with_label("in a hook").with_help(&help));
        }
    }
    findings
}

fn input(placeholder: &Placeholder) -> Option<String> {
    match placeholder {
        Placeholder::Input { name, .. } => Some(name.clone()),
        Placeholder::Escaped { .. } | Placeholder::Step(_) => None,
    }
}

/// The place of an input's placeholder within a part of the file, or that part.
fn place_in(source: &str, part: &Range<usize>, name: &str) -> Range<usize> {
    let text = source.get(part.clone()).unwrap_or_default();
    let forms = [format!("{{input:{name}"), format!("${{inputs.{name}")];
    let found = forms.iter().find_map(|form| Some((text.find(form.as_str())?, form.len())));
    found.map_or_else(|| part.clone(), |(at, length)| part.start + at..part.start + at + length)
}

fn claims(directive: &Directive, id: &ItemId) -> Vec<Finding> {
    declared_problems(directive, id).iter().map(Finding::of_claim).collect()
}

fn extends(directive: &Directive) -> Option<Finding> {
    let extends = directive.extends.as_ref()?;
    let error = extends.value.parse::<ItemId>().err()?;
    let message = format!("`extends` is not an item id: {error}");
    Some(Finding::error("invalid-extends", &message, extends.span.clone()))
}

fn permissions(directive: &Directive) -> Vec<Finding> {
    let Some(permissions) = &directive.permissions else { return Vec::new() };
    let problems = permission_problems(&permissions.value);
    problems
        .iter()
        .map(|problem| {
            Finding::error("invalid-pattern", &problem.to_string(), problem.span.clone())
        })
        .collect()
}

/// Choices that are not of the declared type: no value is one of them.
fn unfit_choices(input: &Spanned<Input>) -> Vec<Finding> {
    let given = |choice: &String| {
        let value = serde_json::Value::from(choice.as_str());
        BTreeMap::from([(input.value.name.value.clone(), value)])
    };
    let unfit = input
        .value
        .choices
        .iter()
        .filter(|choice| Inputs::bind(std::slice::from_ref(input), &given(choice)).is_err());
    unfit
        .map(|choice| {
            let message = format!(
                "`{choice}` of `enum` is no value of the type `{}`",
                input.value.value_type
            );
            let finding = Finding::error("unfit-choice", &message, input.value.name.span.clone());
            finding
                .with_label("of this input")
                .with_help("write values of the type, or change `type`")
        })
        .collect()
}

/// A currency that no price is in: no run could begin.
fn other_currency(directive: &Directive) -> Option<Finding> {
    let currency = directive.limits.spend_currency.as_ref()?;
    let message = format!("the spend limit is in `{}`, and prices are in `USD`", currency.value);
    let finding = Finding::error("other-currency", &message, currency.span.clone());
    (currency.value != "USD")
        .then(|| finding.with_label("no price is in it").with_help("write the limit in `USD`"))
}

/// A default that is not of the declared type or not one of the choices: no run without this input could begin.
fn unfit_default(input: &Spanned<Input>) -> Option<Finding> {
    let default = input.value.default.as_ref()?;
    let error = Inputs::bind(std::slice::from_ref(input), &BTreeMap::new()).err()?;
    let message = error.problems().first()?.to_string();
    let finding = Finding::error("unfit-default", &message, default.span.clone());
    Some(
        finding.with_help(
            "write a default that fits, change the declaration, or leave the default out",
        ),
    )
}

/// Placeholders of inputs that are not declared (SPEC 6.2), in every part of the prompt that takes values.
fn undeclared_inputs(directive: &Directive, source: &str) -> Vec<Finding> {
    let declared: BTreeSet<&str> =
        directive.inputs.iter().map(|input| input.value.name.value.as_str()).collect();
    let mut texts = vec![directive.body.clone()];
    if let Some(block) = &directive.permissions {
        texts.push(Spanned::new(block.value.raw.clone(), block.span.clone()));
    }
    texts.extend(labels(&directive.outputs));
    texts
        .iter()
        .flat_map(|text| placeholders(&text.value).into_iter().map(move |found| (text, found)))
        .filter_map(|(text, found)| match &found.value {
            Placeholder::Input { name, .. } if !declared.contains(name.as_str()) => {
                Some(undeclared_input(name, &declared, place(text, &found.span, source)))
            }
            _ => None,
        })
        // One more than is kept, so that it is known whether there are more.
        .take(KEPT + 1)
        .collect()
}

/// Returns the texts of the outputs, each at the place of its whole output.
fn labels(outputs: &Outputs) -> Vec<Spanned<String>> {
    match outputs {
        Outputs::List(outputs) => {
            let label = |output: &rye_parse::Output| output.description.clone();
            outputs.iter().map(|output| output.clone().map(|output| label(&output))).collect()
        }
        Outputs::Dict(outputs) => {
            outputs.iter().map(|output| output.clone().map(|output| output.text)).collect()
        }
        Outputs::None => Vec::new(),
    }
}

fn undeclared_input(name: &str, declared: &BTreeSet<&str>, span: Range<usize>) -> Finding {
    let names: Vec<&str> = declared.iter().copied().take(LISTED).collect();
    let more = if names.len() < declared.len() { ", …" } else { "" };
    let near = did_you_mean(nearest_name(name, declared.iter().copied()));
    let message = format!("input `{name}` is not declared{near}");
    let mut finding = Finding::error("undeclared-input", &message, span);
    finding.label = "no input has this name".to_owned();
    finding.help = Some(match names.as_slice() {
        [] => "declare it in `<inputs>`".to_owned(),
        names => format!("declare it in `<inputs>`, or use one of `{}`{more}", names.join("`, `")),
    });
    finding
}

/// Returns the place of a part of `text` in the file, or that of all of `text` if it was put
/// together from several places.
fn place(text: &Spanned<String>, part: &Range<usize>, source: &str) -> Range<usize> {
    if source.get(text.span.clone()) != Some(text.value.as_str()) {
        return text.span.clone();
    }
    text.span.start + part.start..text.span.start + part.end
}
