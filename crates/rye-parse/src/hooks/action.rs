//! The actions of a hook in a hooks file.

use serde_json::{Map, Value};

use super::node::Node;
use crate::{
    Action, Problem, ProblemKind, Spanned, problem::Report, steps::action::check_item_type,
    xml::expect,
};

/// The keys of an action that have their own field.
const FIELDS: [&str; 7] =
    ["primary", "item_type", "item_id", "query", "scope", "params", "parameters"];

/// The other arguments of operations.
const OPTIONS: [&str; 3] = ["destination", "thread", "async"];

/// Parses the actions of a hook: `action`, or the list `actions`.
pub(super) fn all(report: &mut Report<'_>, node: &Node<'_>) -> Vec<Spanned<Action>> {
    match (node.value.get("action"), node.value.get("actions")) {
        (Some(_), Some(_)) => {
            let kind = ProblemKind::Duplicate { what: "the hook's action".to_owned() };
            let problem = Problem::new(kind, node.place("actions"), "beside `action`");
            report.error(problem.help("put all of them into the list below `actions`"));
            Vec::new()
        }
        (Some(value), None) => {
            let node = node.child(report, &["action"], value, "`action`");
            node.and_then(|node| one(report, &node)).into_iter().collect()
        }
        (None, Some(Value::Array(values))) if !values.is_empty() => {
            let mut actions = Vec::new();
            for (index, value) in values.iter().enumerate() {
                let keys = ["actions", &index.to_string()];
                let node = node.child(report, &keys, value, "an action");
                actions.extend(node.and_then(|node| one(report, &node)));
            }
            actions
        }
        (None, Some(Value::Array(_))) => {
            let kind = ProblemKind::Empty { what: "`actions`".to_owned() };
            report.error(Problem::new(kind, node.place("actions"), "no action in it"));
            Vec::new()
        }
        (None, Some(other)) => {
            node.wrong(report, "actions", other, "a list of actions");
            Vec::new()
        }
        (None, None) => Vec::new(),
    }
}

fn one(report: &mut Report<'_>, node: &Node<'_>) -> Option<Spanned<Action>> {
    node.only(report, &[&FIELDS[..], &OPTIONS].concat());
    let primary =
        node.require(report, "primary").and_then(|text| expect::word(report, "primary", &text));
    let mut field = |key| node.text(report, key).map(|text| text.value);
    let item_id = field("item_id");
    let query = field("query");
    let scope = field("scope");
    let item_type = item_type(report, node);
    let parameters = parameters(report, node);
    let options =
        OPTIONS.iter().filter_map(|key| Some(((*key).to_owned(), node.value.get(*key)?.clone())));
    let options = options.collect();
    let primary = primary?;
    let place = node.place("primary");
    Some(Spanned::new(
        Action { primary, item_type, item_id, query, scope, parameters, options },
        place,
    ))
}

fn item_type(report: &mut Report<'_>, node: &Node<'_>) -> Option<String> {
    let text = node.text(report, "item_type")?;
    check_item_type(report, &text);
    Some(text.value)
}

/// Parses the item's arguments, under one of their two names.
fn parameters(report: &mut Report<'_>, node: &Node<'_>) -> Map<String, Value> {
    let given = ["params", "parameters"].map(|key| node.value.get(key).map(|value| (key, value)));
    let (key, value) = match given {
        [None, None] => return Map::new(),
        [Some(_), Some((other, _))] => {
            let kind = ProblemKind::Duplicate { what: "the action's parameters".to_owned() };
            let problem = Problem::new(kind, node.place(other), "the same as `params`");
            report.error(problem.help("keep `params`"));
            return Map::new();
        }
        [Some(given), None] | [None, Some(given)] => given,
    };
    match value {
        Value::Object(parameters) => parameters.clone(),
        other => {
            node.wrong(report, key, other, "a mapping");
            Map::new()
        }
    }
}
