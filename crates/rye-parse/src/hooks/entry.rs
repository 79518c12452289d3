//! One hook of a hooks file.

use std::collections::BTreeSet;

use rye_types::{HookEvent, HookLayer, Position};
use serde_json::Value;

use super::{ConfigHook, action, condition, node::Node};
use crate::{Hook, Problem, ProblemKind, Spanned, problem::Report, strict::Document, xml::expect};

/// The keys of a hook.
const KEYS: [&str; 13] = [
    "id",
    "event",
    "layer",
    "order",
    "condition",
    "conditions",
    "when",
    "position",
    "wrap",
    "effect",
    "action",
    "actions",
    "extends",
];

/// The events at which knowledge is added around the prompt.
const CONTEXT_EVENTS: [HookEvent; 2] = [HookEvent::ThreadStarted, HookEvent::ThreadContinued];

/// Parses the hooks of the list, and reports duplicate ids.
pub(super) fn all(
    report: &mut Report<'_>,
    document: &Document,
    values: &[Value],
) -> Vec<Spanned<ConfigHook>> {
    let mut hooks: Vec<Spanned<ConfigHook>> = Vec::new();
    let mut ids = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        let path = vec!["hooks".to_owned(), index.to_string()];
        let Some(node) = Node::new(report, document, path, value, "a hook") else { continue };
        let Some(hook) = hook(report, &node) else { continue };
        let id = &hook.hook.id;
        if !ids.insert(id.value.clone()) {
            let kind = ProblemKind::Duplicate { what: format!("hook `{}`", id.value) };
            let problem = Problem::new(kind, id.span.clone(), "declared before");
            report.error(problem.help("give each hook of a file its own `id`"));
        }
        hooks.push(Spanned::new(hook, node.place("id")));
    }
    hooks
}

fn hook(report: &mut Report<'_>, node: &Node<'_>) -> Option<ConfigHook> {
    node.only(report, &KEYS);
    let id = node.require(report, "id");
    let event = node.require(report, "event").and_then(|text| {
        let event = expect::word(report, "event", &text)?;
        Some(Spanned::new(event, text.span))
    });
    let layer = layer(report, node);
    let order = order(report, node);
    let position = position(report, node);
    let wrap = flag(report, node, "wrap");
    let condition = condition::of_hook(report, node);
    let extends = node.item_id(report, "extends");
    let actions = action::all(report, node);
    let event = event?;
    let effect = node
        .text(report, "effect")
        .and_then(|text| crate::directive::hooks::effect(report, event.value, text));
    fits_event(report, node, event.value);
    let hook = Hook { id: id?, event, condition, effect, actions };
    Some(ConfigHook { hook, layer, order, position, wrap: wrap.unwrap_or(true), extends })
}

/// Reports keys that the event requires and that are missing, and keys that it does not use.
fn fits_event(report: &mut Report<'_>, node: &Node<'_>, event: HookEvent) {
    let resolves = event == HookEvent::ResolveExtends;
    let mut useless = Vec::new();
    if resolves {
        useless.extend(["action", "actions"]);
        if !node.value.contains_key("extends") {
            node.missing(report, "extends", "add `extends: …`, the id of a directive");
        }
    } else {
        useless.push("extends");
        if ["action", "actions", "effect"].iter().all(|key| !node.value.contains_key(*key)) {
            let help = "add `action: {primary: execute, item_type: …, item_id: …}`";
            node.missing(report, "action", help);
        }
    }
    if !CONTEXT_EVENTS.contains(&event) {
        useless.extend(["position", "wrap"]);
    }
    for key in useless.into_iter().filter(|key| node.value.contains_key(*key)) {
        let kind = ProblemKind::UselessKey { key: key.to_owned(), event: event.to_string() };
        report.error(Problem::new(kind, node.place(key), "not used here").help("remove it"));
    }
}

fn layer(report: &mut Report<'_>, node: &Node<'_>) -> Option<Spanned<HookLayer>> {
    let value = node.value.get("layer")?;
    let layer =
        HookLayer::ALL.iter().find(|layer| value.as_u64() == Some(u64::from(layer.number())));
    match layer {
        None => {
            let expected = "one of 0 (user), 2 (built-in), 3 (project) and 4 (infrastructure)";
            node.bad(report, "layer", value, expected, None);
            None
        }
        Some(HookLayer::Directive) => {
            let help = "write the hook into the directive's `<hooks>`".to_owned();
            node.bad(report, "layer", value, "a layer of hooks files", Some(help));
            None
        }
        Some(layer) => Some(Spanned::new(*layer, node.place("layer"))),
    }
}

fn order(report: &mut Report<'_>, node: &Node<'_>) -> i64 {
    let Some(value) = node.value.get("order") else { return 0 };
    if value.as_i64().is_none() {
        node.wrong(report, "order", value, "a whole number");
    }
    value.as_i64().unwrap_or(0)
}

fn position(report: &mut Report<'_>, node: &Node<'_>) -> Position {
    let Some(text) = node.text(report, "position") else { return Position::default() };
    expect::word(report, "position", &text).unwrap_or_default()
}

fn flag(report: &mut Report<'_>, node: &Node<'_>, key: &str) -> Option<bool> {
    let value = node.value.get(key)?;
    if value.as_bool().is_none() {
        node.wrong(report, key, value, "`true` or `false`");
    }
    value.as_bool()
}
