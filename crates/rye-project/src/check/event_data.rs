//! The data that hooks take from their events: a path that an event does not have is found here (SPEC 10.3).

use std::ops::Range;

use rye_parse::{Condition, Directive, Hook, Outputs, Spanned, did_you_mean, nearest_name, quoted};
use rye_thread::{ActionTarget, HookAction};
use rye_types::HookEvent;

use super::Finding;
use crate::plan::is_composed;

/// The findings about the paths of a hook of which nothing else is known.
pub(super) fn of_hook(hook: &Hook, source: &str) -> Vec<Finding> {
    let event = hook.event.value;
    let known = known_paths(hook);
    let unknown = |used: &Used| !known.iter().any(|known| is_at(&used.path, known));
    let finding = |used: Used| {
        let by = &hook.id.value;
        let near = near(&used.path, &known);
        let path = &used.path;
        let elsewhere = if near.is_empty() { elsewhere(path, event) } else { String::new() };
        let message = match is_opening(hook) {
            true => {
                format!("hook `{by}`: before the thread exists, there is no data `{path}`{near}")
            }
            false => {
                format!("hook `{by}`: the event `{event}` has no data `{path}`{near}{elsewhere}")
            }
        };
        let help = format!("the data of this event: {}", quoted(known.iter().copied()));
        Finding::error("unknown-data", &message, used.place)
            .with_label(used.effect)
            .with_help(&help)
    };
    used(hook, source).into_iter().filter(unknown).map(finding).collect()
}

/// The findings about inputs and outputs that a directive's own hook takes, and that the directive does not declare.
///
/// They are warnings, because another directive that extends this one may declare them.
pub(super) fn of_declaring(directive: &Directive, hook: &Hook, source: &str) -> Vec<Finding> {
    let inputs = directive.inputs.iter().map(|input| input.value.name.value.as_str()).collect();
    let outputs = match &directive.outputs {
        Outputs::None => Vec::new(),
        Outputs::List(outputs) => {
            outputs.iter().map(|output| output.value.name.value.as_str()).collect()
        }
        Outputs::Dict(outputs) => outputs.iter().map(|output| output.value.name.as_str()).collect(),
    };
    let declared = [("inputs", "input", inputs), ("outputs", "output", outputs)];
    let mut findings = Vec::new();
    for used in used(hook, source) {
        let Some((list, rest)) = used.path.split_once('.') else { continue };
        let name = rest.split('.').next().unwrap_or(rest);
        let Some((_, noun, names)) = declared.iter().find(|(key, _, _)| *key == list) else {
            continue;
        };
        if names.is_empty() || names.contains(&name) {
            continue;
        }
        let near = did_you_mean(nearest_name(name, names.iter().copied()));
        let message =
            format!("hook `{}`: the directive declares no {noun} `{name}`{near}", hook.id.value);
        let help = format!("declare it in `<{list}>`, or use {}", quoted(names.iter().copied()));
        let finding = Finding::warning("undeclared-data", &message, used.place);
        findings.push(finding.with_label(used.effect).with_help(&help));
    }
    findings
}

/// A path of event data that a hook uses.
struct Used {
    path: String,
    place: Range<usize>,
    /// The consequence of an absent value.
    effect: &'static str,
}

fn used(hook: &Hook, source: &str) -> Vec<Used> {
    let mut found = Vec::new();
    if let Some(condition) = &hook.condition {
        add_compared(condition, source, &mut found);
    }
    for action in &hook.actions {
        // The target does not matter for the arguments.
        let arguments = action.value.parameters.clone();
        let filled = HookAction::new(ActionTarget::Tool(String::new()), arguments);
        found.extend(filled.paths().into_iter().map(|path| {
            let place = place_of(source, &action.span, &format!("${{{path}}}"));
            Used { path, place, effect: "the action would fail" }
        }));
    }
    found
}

fn add_compared(condition: &Spanned<Condition>, source: &str, found: &mut Vec<Used>) {
    match &condition.value {
        Condition::Compare { path, .. } => {
            let place = place_of(source, &condition.span, path);
            found.push(Used { path: path.clone(), place, effect: "always absent" });
        }
        Condition::Any(inner) | Condition::All(inner) => {
            inner.iter().for_each(|inner| add_compared(inner, source, found));
        }
        Condition::Not(inner) => add_compared(inner, source, found),
        _ => {}
    }
}

fn place_of(source: &str, span: &Range<usize>, text: &str) -> Range<usize> {
    let at = source.get(span.clone()).and_then(|within| within.find(text));
    at.map_or_else(|| span.clone(), |at| span.start + at..span.start + at + text.len())
}

/// The paths of the data that a hook sees.
fn known_paths(hook: &Hook) -> Vec<&'static str> {
    let event = hook.event.value;
    if event.is_of_thread() && is_opening(hook) {
        return HookEvent::opening_paths();
    }
    event.data_paths()
}

/// Returns `true` if the hook puts knowledge into the opening, for which its condition is looked at before the thread exists.
fn is_opening(hook: &Hook) -> bool {
    hook.actions.iter().any(|action| is_composed(hook.event.value, &action.value))
}

/// Returns `true` if the path leads to data at `known`, or to data that holds it.
fn is_at(path: &str, known: &str) -> bool {
    let mut known = known.split('.');
    path.split('.').all(|name| match known.clone().next() {
        Some("*") => true,
        Some("N") => known.next().is_some() && name.parse::<usize>().is_ok(),
        Some(key) => known.next().is_some() && key == name,
        None => false,
    })
}

fn near(path: &str, known: &[&str]) -> String {
    let known: Vec<String> = known.iter().map(|known| known.replace(".N", ".0")).collect();
    let names = known.iter().map(String::as_str).filter(|known| !known.ends_with('*'));
    // A part of the data, such as `cost`, is a path too.
    let parts = names.clone().filter_map(|known| Some(known.split_once('.')?.0));
    did_you_mean(nearest_name(path, names.chain(parts)))
}

/// The other events whose data has the path, as the end of a sentence.
fn elsewhere(path: &str, own: HookEvent) -> String {
    let has = |event: &HookEvent| {
        *event != own && event.data_paths().iter().any(|known| is_at(path, known))
    };
    let mut events: Vec<&str> =
        HookEvent::of_threads().filter(has).map(HookEvent::as_str).collect();
    events.sort_unstable();
    match events.as_slice() {
        [] => String::new(),
        [event] => format!("; the event `{event}` has it"),
        events => format!("; the events {} have it", quoted(events.iter().copied())),
    }
}
