//! The conditions of a hooks file.

use std::ops::Range;

use serde_json::Value;

use super::node::Node;
use crate::{
    Condition, Operator, Problem, ProblemKind, Spanned,
    condition::{all, is_path, operand, when},
    problem::Report,
    xml::expect,
};

/// The three keys, of which a hook may have one.
const KEYS: [&str; 3] = ["condition", "conditions", "when"];

/// The greatest depth of `any`, `all` and `not`.
const DEPTH: usize = 16;

/// Parses the condition of a hook, under one of its names. If it is a list, all its conditions must hold.
pub(super) fn of_hook(report: &mut Report<'_>, node: &Node<'_>) -> Option<Spanned<Condition>> {
    let mut given = KEYS.into_iter().filter(|key| node.value.contains_key(*key));
    let key = given.next()?;
    if let Some(other) = given.next() {
        let kind = ProblemKind::Duplicate { what: "the hook's condition".to_owned() };
        let problem = Problem::new(kind, node.place(other), format!("beside `{key}`"));
        report.error(problem.help("put all of them into a list below `conditions`"));
        return None;
    }
    match key {
        "when" => expression(report, node),
        _ => one_or_list(report, node, key, DEPTH),
    }
}

/// Parses a condition, or a list of conditions that must all hold.
fn one_or_list(
    report: &mut Report<'_>,
    node: &Node<'_>,
    key: &str,
    depth: usize,
) -> Option<Spanned<Condition>> {
    match node.value.get(key)? {
        Value::Array(_) => all(list(report, node, key, depth)),
        value => {
            let node = node.child(report, &[key], value, &format!("`{key}`"))?;
            one(report, &node, depth)
        }
    }
}

fn list(
    report: &mut Report<'_>,
    node: &Node<'_>,
    key: &str,
    depth: usize,
) -> Vec<Spanned<Condition>> {
    let Some(values) = node.value.get(key).and_then(Value::as_array) else {
        node.wrong(report, key, node.value.get(key).unwrap_or(&Value::Null), "a list");
        return Vec::new();
    };
    if values.is_empty() {
        let kind = ProblemKind::Empty { what: format!("`{key}`") };
        report.error(Problem::new(kind, node.place(key), "no condition in it"));
    }
    let mut conditions = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let node = node.child(report, &[key, &index.to_string()], value, "a condition");
        conditions.extend(node.and_then(|node| one(report, &node, depth)));
    }
    conditions
}

/// Parses one condition: a comparison, `any`, `all`, `not` or `when`.
fn one(report: &mut Report<'_>, node: &Node<'_>, depth: usize) -> Option<Spanned<Condition>> {
    let key = ["any", "all", "not", "when"].into_iter().find(|key| node.value.contains_key(*key));
    let Some(key) = key else { return compare(report, node) };
    node.only(report, &[key]);
    let place = node.place(key);
    let Some(depth) = depth.checked_sub(1) else {
        let kind = ProblemKind::TooDeep { what: "conditions".to_owned(), limit: DEPTH };
        report.error(Problem::new(kind, place, "one too many"));
        return None;
    };
    let condition = match key {
        "when" => return expression(report, node),
        "any" => Condition::Any(list(report, node, key, depth)),
        "all" => Condition::All(list(report, node, key, depth)),
        _ => Condition::Not(Box::new(one_or_list(report, node, key, depth)?)),
    };
    Some(Spanned::new(condition, place))
}

fn compare(report: &mut Report<'_>, node: &Node<'_>) -> Option<Spanned<Condition>> {
    node.only(report, &["path", "op", "value"]);
    let path = node.require(report, "path");
    if let Some(path) = path.as_ref().filter(|path| !is_path(&path.value)) {
        expect::bad_value(report, "path", path, "a dotted path such as `cost.spend`");
    }
    let operator = node.require(report, "op").and_then(|text| operand::operator(report, &text))?;
    let value = value(report, node, operator)?;
    let place = node.place("path");
    Some(Spanned::new(Condition::Compare { path: path?.value, operator, value }, place))
}

/// Parses the operand of the operator. The outer `None` is a reported problem.
fn value(report: &mut Report<'_>, node: &Node<'_>, operator: Operator) -> Option<Option<Value>> {
    let value = match (operator, node.value.get("value")) {
        (Operator::Exists, None) => return Some(None),
        (Operator::Exists, Some(_)) => {
            let kind = ProblemKind::UnusedValue { operator: "exists".to_owned() };
            let problem = Problem::new(kind, node.place("value"), "not compared with anything");
            report.error(problem.help("remove `value`; for the opposite, put it below `not`"));
            return None;
        }
        (_, None) => {
            node.missing(report, "value", "add `value: …`");
            return None;
        }
        (_, Some(value)) => value,
    };
    match operand::of_value(&mut report.patterns, operator, value) {
        Ok(operand) => Some(Some(operand)),
        Err(unfit) => {
            let expected = unfit.expected.replace("`a, b`", "`[a, b]`");
            node.bad(report, "value", value, &expected, unfit.why);
            None
        }
    }
}

/// Parses `when`. Its clauses keep their own places if the file contains the text literally.
fn expression(report: &mut Report<'_>, node: &Node<'_>) -> Option<Spanned<Condition>> {
    let text = node.text(report, "when")?;
    let key = node.place("when");
    let start = start_of_value(report.source, &key, &text.value);
    when::read(report, &text.value, &|range| match start {
        Some(start) => start + range.start..start + range.end,
        None => key.clone(),
    })
}

/// Returns the offset of a text after its key, if only `:`, `=`, quotes and white space are in between.
fn start_of_value(source: &str, key: &Range<usize>, text: &str) -> Option<usize> {
    let rest = source.get(key.end..)?;
    let between = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '"' | '\'');
    let value = rest.trim_start_matches(between);
    value.starts_with(text).then(|| source.len() - value.len())
}
