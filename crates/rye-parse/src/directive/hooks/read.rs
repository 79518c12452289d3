//! From elements to hooks.

use std::collections::BTreeSet;

use super::{Condition, Hook, HookEvent, Operator};
use crate::{
    Action, Primary, Problem, ProblemKind, Spanned,
    problem::Report,
    steps::action,
    xml::{Element, expect},
};

/// The elements of a condition.
const CONDITIONS: [&str; 5] = ["condition", "any", "all", "not", "when"];

/// Everything that may stand in a hook.
const CHILDREN: [&str; 12] = [
    "condition",
    "any",
    "all",
    "not",
    "when",
    "action",
    "inputs",
    "execute",
    "search",
    "load",
    "sign",
    "fetch",
];

/// Reads `<hooks>`.
pub(in crate::directive) fn read(report: &mut Report<'_>, element: &Element) -> Vec<Spanned<Hook>> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut hooks = Vec::new();
    let mut ids = BTreeSet::new();
    for child in element.elements() {
        if child.name.value != "hook" {
            expect::unknown_child(report, element, child, &["hook"]);
            continue;
        }
        let Some(hook) = hook(report, child) else { continue };
        if !ids.insert(hook.id.value.clone()) {
            let kind = ProblemKind::Duplicate { what: format!("hook `{}`", hook.id.value) };
            report.error(Problem::new(kind, hook.id.span.clone(), "declared before"));
        }
        hooks.push(Spanned::new(hook, child.span.clone()));
    }
    hooks
}

fn hook(report: &mut Report<'_>, element: &Element) -> Option<Hook> {
    expect::attributes(report, element, &["id", "event"]);
    expect::no_text(report, element);
    let id = expect::required(report, element, "id");
    let event = expect::required(report, element, "event").and_then(|text| event(report, text));
    let mut conditions = Vec::new();
    let mut actions: Vec<Spanned<Action>> = Vec::new();
    for child in element.elements() {
        match child.name.value.as_str() {
            name if CONDITIONS.contains(&name) => conditions.extend(condition(report, child)),
            "action" => actions.extend(generic_action(report, child)),
            "inputs" => match actions.last_mut() {
                Some(last) => action::inputs(report, child, &mut last.value.parameters),
                None => lacking(report, element, "action before its `<inputs>`"),
            },
            name => match name.parse::<Primary>() {
                Ok(primary) => actions.push(action::read(report, child, primary)),
                Err(_) => expect::unknown_child(report, element, child, &CHILDREN),
            },
        }
    }
    if !element.elements().any(|child| is_action(&child.name.value)) {
        lacking(report, element, "action");
    }
    let condition = one(conditions);
    Some(Hook { id: id?, event: event?, condition, actions })
}

fn is_action(name: &str) -> bool {
    name == "action" || name.parse::<Primary>().is_ok()
}

fn event(report: &mut Report<'_>, text: Spanned<String>) -> Option<Spanned<HookEvent>> {
    let valid = HookEvent::ALL.map(HookEvent::as_str);
    let event = expect::word(report, "event", &text, &valid)?;
    Some(Spanned::new(event, text.span))
}

/// `<action primary="execute" …>`.
fn generic_action(report: &mut Report<'_>, element: &Element) -> Option<Spanned<Action>> {
    let text = expect::required(report, element, "primary")?;
    let primary = expect::word(report, "primary", &text, &Primary::ALL.map(Primary::as_str))?;
    Some(action::read(report, element, primary))
}

fn condition(report: &mut Report<'_>, element: &Element) -> Option<Spanned<Condition>> {
    let condition = match element.name.value.as_str() {
        "condition" => compare(report, element)?,
        "when" => {
            expect::attributes(report, element, &[]);
            let text = expect::some_text(report, element)?;
            return Some(text.map(Condition::When));
        }
        "any" => Condition::Any(nested(report, element)),
        "all" => Condition::All(nested(report, element)),
        _ => Condition::Not(Box::new(one(nested(report, element))?)),
    };
    Some(Spanned::new(condition, element.span.clone()))
}

fn compare(report: &mut Report<'_>, element: &Element) -> Option<Condition> {
    expect::attributes(report, element, &["path", "op", "value"]);
    expect::no_text(report, element);
    for child in element.elements() {
        expect::unknown_child(report, element, child, &[]);
    }
    let path = expect::required(report, element, "path");
    let operator = expect::required(report, element, "op").and_then(|text| {
        expect::word(report, "operator", &text, &Operator::ALL.map(Operator::as_str))
    });
    let value = match operator {
        Some(Operator::Exists) | None => {
            element.attribute("value").map(|value| value.value.clone())
        }
        Some(_) if element.attribute("value").is_none() => {
            expect::required(report, element, "value");
            return None;
        }
        Some(_) => element.attribute("value").map(|value| value.value.clone()),
    };
    Some(Condition::Compare { path: path?.value, operator: operator?, value })
}

/// The conditions inside `<any>`, `<all>` or `<not>`.
fn nested(report: &mut Report<'_>, element: &Element) -> Vec<Spanned<Condition>> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    if element.elements().next().is_none() {
        lacking(report, element, "condition");
    }
    let mut conditions = Vec::new();
    for child in element.elements() {
        if CONDITIONS.contains(&child.name.value.as_str()) {
            conditions.extend(condition(report, child));
        } else {
            expect::unknown_child(report, element, child, &CONDITIONS);
        }
    }
    conditions
}

/// Several conditions in a row must all hold.
fn one(mut conditions: Vec<Spanned<Condition>>) -> Option<Spanned<Condition>> {
    let last = conditions.pop()?;
    let Some(first) = conditions.first() else { return Some(last) };
    let span = first.span.start..last.span.end;
    conditions.push(last);
    Some(Spanned::new(Condition::All(conditions), span))
}

fn lacking(report: &mut Report<'_>, element: &Element, what: &str) {
    let kind =
        ProblemKind::MissingContent { element: element.name.value.clone(), what: what.to_owned() };
    report.error(Problem::new(kind, element.name.span.clone(), format!("no {what} in it")));
}
