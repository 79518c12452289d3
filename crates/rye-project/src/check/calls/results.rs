//! The results of steps: what later steps refer to, and what the directive returns (SPEC 10.13).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rye_parse::{
    Action, Directive, Outputs, Primary, Spanned, Step, did_you_mean, nearest_name, quoted,
};
use rye_thread::DIRECTIVE_RETURN;
use serde_json::{Map, Value};

use super::references;
use crate::aliases::tool_id;
use crate::check::Finding;
use crate::check::catalog::Catalog;
use crate::needs::is_return;

/// The keys of a step's result; `None` where they are known only when the step runs.
type Keys<'c> = Option<Vec<&'c str>>;

/// The finished steps with their keys, by name.
type Finished<'c> = BTreeMap<String, Keys<'c>>;

/// References to results that no earlier step has, and outputs that no step yields.
pub(super) fn findings(catalog: &Catalog<'_>, directive: &Directive, source: &str) -> Vec<Finding> {
    let names: Vec<String> =
        directive.steps.iter().enumerate().map(|(place, step)| name(place, &step.value)).collect();
    let mut findings = Vec::new();
    let mut finished = Finished::new();
    for (own, step) in names.iter().zip(&directive.steps) {
        for action in &step.value.actions {
            let parameters = Value::Object(action.value.parameters.clone());
            for (step, path) in references(&parameters) {
                let Some(problem) = dangling(&finished, &names, &step, &path) else { continue };
                let message = format!("step `{own}`: `${{steps.{step}…}}` {problem}");
                let place = place(source, action, &step);
                let finding = Finding::error("unknown-result", &message, place);
                findings.push(finding.with_label("no such result"));
            }
        }
        if !step.value.actions.is_empty() {
            finished.insert(own.clone(), keys(catalog, &step.value));
        }
    }
    findings.extend(missing_outputs(directive, &finished));
    findings
}

/// Steps with the name of an earlier one. A reference means the last of them that has ended.
pub(super) fn namesakes(directive: &Directive, source: &str) -> Vec<Finding> {
    let mut names = BTreeSet::new();
    let named = directive.steps.iter().filter_map(|step| Some((step.value.name.as_deref()?, step)));
    let again = named.filter(|(name, _)| !names.insert(*name));
    again
        .map(|(name, step)| {
            let message = format!(
                "an earlier step has the name `{name}`, too, so that `${{steps.{name}}}` means the last one that has ended"
            );
            let line = source.get(step.span.clone()).and_then(|text| text.lines().next());
            let end = step.span.start + line.map_or(0, str::len);
            let finding = Finding::warning("duplicate-step", &message, step.span.start..end);
            finding.with_label("the same name").with_help("give each step a name of its own")
        })
        .collect()
}

/// The name by which other steps refer to a step.
fn name(place: usize, step: &Step) -> String {
    step.name.clone().unwrap_or_else(|| format!("step_{}", place + 1))
}

/// The reason why a reference leads nowhere.
fn dangling(
    finished: &Finished<'_>,
    names: &[String],
    step: &str,
    path: &[String],
) -> Option<String> {
    let Some(keys) = finished.get(step) else {
        if names.iter().any(|name| name == step) {
            return Some(
                "names a step that has no result by then; refer to an earlier step with a call"
                    .to_owned(),
            );
        }
        let known = finished.keys().map(String::as_str);
        let near = did_you_mean(nearest_name(step, known.clone()));
        return Some(match finished.is_empty() {
            true => "names no step, and no call is earlier".to_owned(),
            false => format!("names no step; with results there are {}{near}", quoted(known)),
        });
    };
    let keys = keys.as_ref()?;
    let key = path.first()?;
    if keys.contains(&key.as_str()) {
        return None;
    }
    let near = did_you_mean(nearest_name(key, keys.iter().copied()));
    let keys = quoted(keys.iter().copied());
    Some(format!("names `{key}`, which the result of `{step}` does not have; it has {keys}{near}"))
}

/// The place of a reference within a call.
fn place(source: &str, action: &Spanned<Action>, step: &str) -> Range<usize> {
    let written = format!("${{steps.{step}");
    let text = source.get(action.span.clone()).unwrap_or_default();
    match text.find(&written) {
        Some(at) => action.span.start + at..action.span.start + at + written.len(),
        None => action.span.clone(),
    }
}

/// The keys of a step's result: those of all of its tools, where each says all that it returns.
fn keys<'c>(catalog: &'c Catalog<'_>, step: &Step) -> Keys<'c> {
    let of_each = step.actions.iter().map(|action| returned_keys(catalog, &action.value));
    Some(of_each.collect::<Option<Vec<_>>>()?.concat())
}

fn returned_keys<'c>(catalog: &'c Catalog<'_>, action: &Action) -> Keys<'c> {
    let is_tool = action.primary == Primary::Execute && action.item_type.as_deref() == Some("tool");
    let id = action.item_id.as_deref().filter(|_| is_tool)?;
    let schema = catalog.tool(&tool_id(id).parse().ok()?)?.output_schema.as_ref()?;
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let properties = schema.get("properties").and_then(Value::as_object).filter(|_| is_closed)?;
    Some(Map::keys(properties).map(String::as_str).collect())
}

/// Required outputs that a run without a model cannot return: every step is a call, all results are known, and none has them.
fn missing_outputs(directive: &Directive, finished: &Finished<'_>) -> Vec<Finding> {
    let Outputs::List(outputs) = &directive.outputs else { return Vec::new() };
    let mut actions = directive.steps.iter().flat_map(|step| &step.value.actions);
    if finished.len() < directive.steps.len() || actions.any(|action| is_return(&action.value)) {
        return Vec::new();
    }
    let Some(keys) = finished.values().cloned().collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let keys = keys.concat();
    let lacking = outputs.iter().filter(|output| {
        output.value.required && !keys.contains(&output.value.name.value.as_str())
    });
    lacking
        .filter(|_| !directive.steps.is_empty())
        .map(|output| {
            let name = &output.value.name;
            let message = format!("no step's result has the required output `{}`", name.value);
            let finding = Finding::remark("unyielded-output", &message, name.span.clone());
            finding.with_label("only a model can return it").with_help(
                &format!("to run without a model, name it as a result has it, or return it in a step that calls the tool `{DIRECTIVE_RETURN}`"),
            )
        })
        .collect()
}
