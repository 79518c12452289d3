//! Parsing of `<hooks>`.

use std::collections::BTreeSet;

use rye_types::{HookEffect, HookEvent};

use super::Hook;
use crate::{
    Action, Condition, Operator, Primary, Problem, ProblemKind, Spanned,
    condition::{all, is_path, operand, when},
    problem::Report,
    steps::action,
    xml::{Element, expect},
};

/// The elements of a condition.
const CONDITIONS: [&str; 5] = ["condition", "any", "all", "not", "when"];

/// All elements that a hook may contain.
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

/// Parses `<hooks>`.
pub(in crate::directive) fn read(
    report: &mut Report<'_>,
    element: &Element<'_>,
) -> Vec<Spanned<Hook>> {
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

fn hook(report: &mut Report<'_>, element: &Element<'_>) -> Option<Hook> {
    expect::attributes(report, element, &["id", "event", "effect"]);
    expect::no_text(report, element);
    let id = expect::require(report, element, "id");
    let event = expect::require(report, element, "event").and_then(|text| event(report, text));
    let effect = element.attribute("effect").and_then(|text| {
        let text = Spanned::new(text.value.clone().into_owned(), text.span.clone());
        effect(report, event.as_ref()?.value, text)
    });
    let mut conditions = Vec::new();
    let mut actions: Vec<Spanned<Action>> = Vec::new();
    for child in element.elements() {
        match child.name.value {
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
    let acts = element.elements().any(|child| is_action(child.name.value));
    if !acts && element.attribute("effect").is_none() {
        lacking(report, element, "action");
    }
    let condition = all(conditions);
    Some(Hook { id: id?, event: event?, condition, effect, actions })
}

fn is_action(name: &str) -> bool {
    name == "action" || name.parse::<Primary>().is_ok()
}

fn event(report: &mut Report<'_>, text: Spanned<String>) -> Option<Spanned<HookEvent>> {
    let event = expect::word(report, "event", &text)?;
    if event == HookEvent::ResolveExtends {
        let problem = Problem::new(ProblemKind::MisplacedEvent, text.span, "too late here");
        report.error(problem.help("write the hook into `config/agent/hooks.yaml`"));
        return None;
    }
    Some(Spanned::new(event, text.span))
}

/// Parses the effect of a hook at this event.
pub(crate) fn effect(
    report: &mut Report<'_>,
    event: HookEvent,
    text: Spanned<String>,
) -> Option<Spanned<HookEffect>> {
    let valid: Vec<&str> = event.effects().iter().map(|effect| effect.as_str()).collect();
    if valid.is_empty() {
        let kind = ProblemKind::UselessKey { key: "effect".to_owned(), event: event.to_string() };
        report.error(Problem::new(kind, text.span, "not used here").help("remove it"));
        return None;
    }
    let effect = expect::word(report, "effect", &text)?;
    if !event.effects().contains(&effect) {
        let what = format!("effect at `{event}`");
        expect::unknown_word(report, &what, &text, &valid);
        return None;
    }
    Some(Spanned::new(effect, text.span))
}

/// Parses `<action primary="execute" …>`.
fn generic_action(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<Action>> {
    let text = expect::require(report, element, "primary")?;
    let primary = expect::word(report, "primary", &text)?;
    Some(action::read(report, element, primary))
}

fn condition(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<Condition>> {
    let condition = match element.name.value {
        "condition" => compare(report, element)?,
        "when" => return expression(report, element),
        "any" => Condition::Any(nested_conditions(report, element)),
        "all" => Condition::All(nested_conditions(report, element)),
        _ => Condition::Not(Box::new(all(nested_conditions(report, element))?)),
    };
    Some(Spanned::new(condition, element.span.clone()))
}

/// Parses `<when>`. Its clauses keep their own places, unless the text contains entities or CDATA.
fn expression(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<Condition>> {
    expect::attributes(report, element, &[]);
    let text = expect::some_text(report, element)?;
    let span = text.span.clone();
    let as_written = report.text(&span) == text.value;
    when::read(report, &text.value, &|range| match as_written {
        true => span.start + range.start..span.start + range.end,
        false => span.clone(),
    })
}

fn compare(report: &mut Report<'_>, element: &Element<'_>) -> Option<Condition> {
    expect::attributes(report, element, &["path", "op", "value"]);
    expect::no_text(report, element);
    for child in element.elements() {
        expect::unknown_child(report, element, child, &[]);
    }
    let path = expect::require(report, element, "path");
    if let Some(path) = path.as_ref().filter(|path| !is_path(&path.value)) {
        expect::bad_value(report, "path", path, "a dotted path such as `cost.spend`");
    }
    let operator =
        expect::require(report, element, "op").and_then(|text| operand::operator(report, &text))?;
    let value = value(report, element, operator)?;
    Some(Condition::Compare { path: path?.value, operator, value })
}

/// Parses the operand of the operator. The outer `None` is a reported problem.
fn value(
    report: &mut Report<'_>,
    element: &Element<'_>,
    operator: Operator,
) -> Option<Option<serde_json::Value>> {
    let value = match (operator, element.attribute("value")) {
        (Operator::Exists, None) => return Some(None),
        (Operator::Exists, Some(value)) => {
            let kind = ProblemKind::UnusedValue { operator: "exists".to_owned() };
            let problem = Problem::new(kind, value.span.clone(), "not compared with anything");
            report.error(problem.help("remove `value`; for the opposite, put it into `<not>`"));
            return None;
        }
        (_, None) => {
            expect::require(report, element, "value");
            return None;
        }
        (_, Some(value)) => value,
    };
    match operand::of_text(&mut report.patterns, operator, &value.value) {
        Ok(operand) => Some(Some(operand)),
        Err(unfit) => {
            let problem = expect::bad(value, "value", unfit.expected);
            report.error(Problem { help: unfit.why, ..problem });
            None
        }
    }
}

/// Parses the conditions inside `<any>`, `<all>` or `<not>`.
fn nested_conditions(report: &mut Report<'_>, element: &Element<'_>) -> Vec<Spanned<Condition>> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    if element.elements().next().is_none() {
        lacking(report, element, "condition");
    }
    let mut conditions = Vec::new();
    for child in element.elements() {
        if CONDITIONS.contains(&child.name.value) {
            conditions.extend(condition(report, child));
        } else {
            expect::unknown_child(report, element, child, &CONDITIONS);
        }
    }
    conditions
}

fn lacking(report: &mut Report<'_>, element: &Element<'_>, what: &str) {
    let kind = ProblemKind::MissingContent {
        element: element.name.value.to_owned(),
        what: what.to_owned(),
    };
    let problem = Problem::new(kind, element.name.span.clone(), format!("no {what} in it"));
    report.error(problem.help(match what {
        "condition" => "put a `<condition>` or `<when>` into it",
        _ => "put an `<action>` into it, or an `<execute>`, `<search>`, `<load>`, `<sign>` or `<fetch>`",
    }));
}
