//! Evaluation of conditions on an event's data. It only compares data and executes nothing.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Condition, Operator, operand, pattern};

impl Condition {
    /// Returns `true` if the condition holds for the data of an event.
    ///
    /// A path to nothing or to null is absent. For an absent value only `ne` holds, which is always the opposite of
    /// `eq`. A text in the condition is converted if it is compared with a number or a boolean; nothing else is
    /// converted. The orders hold between numbers only. `contains` means a part of a text, an element of a list or a
    /// key of a mapping.
    pub fn holds(&self, event: &Value) -> bool {
        match self {
            Self::Compare { path, operator, value } => {
                compares(lookup(event, path), *operator, value.as_ref())
            }
            Self::Any(conditions) => {
                conditions.iter().any(|condition| condition.value.holds(event))
            }
            Self::All(conditions) => {
                conditions.iter().all(|condition| condition.value.holds(event))
            }
            Self::Not(condition) => !condition.value.holds(event),
        }
    }
}

/// Returns the value at a dotted path; `None` if it is absent or null.
fn lookup<'e>(event: &'e Value, path: &str) -> Option<&'e Value> {
    let found = path.split('.').try_fold(event, |value, key| match value {
        Value::Array(values) => values.get(key.parse::<usize>().ok()?),
        Value::Object(values) => values.get(key),
        _ => None,
    })?;
    (!found.is_null()).then_some(found)
}

fn compares(found: Option<&Value>, operator: Operator, given: Option<&Value>) -> bool {
    let Some(found) = found else { return operator == Operator::Ne };
    let Some(given) = given else { return operator == Operator::Exists };
    let ordered = |wanted: fn(Ordering) -> bool| order(found, given).is_some_and(wanted);
    match operator {
        Operator::Eq => equal(found, given),
        Operator::Ne => !equal(found, given),
        Operator::Gt => ordered(Ordering::is_gt),
        Operator::Gte => ordered(Ordering::is_ge),
        Operator::Lt => ordered(Ordering::is_lt),
        Operator::Lte => ordered(Ordering::is_le),
        Operator::In => {
            given.as_array().is_some_and(|list| list.iter().any(|one| equal(found, one)))
        }
        Operator::Contains => contains(found, given),
        Operator::Regex => matches(found, given),
        Operator::Exists => true,
    }
}

fn equal(found: &Value, given: &Value) -> bool {
    match (found, given) {
        (Value::Number(found), Value::String(text)) => operand::number(text)
            .is_some_and(|given| numbers(found, &given).is_some_and(Ordering::is_eq)),
        (Value::Bool(found), Value::String(text)) => text.trim().parse() == Ok(*found),
        (Value::Number(found), Value::Number(given)) => {
            numbers(found, given).is_some_and(Ordering::is_eq)
        }
        (found, given) => found == given,
    }
}

fn order(found: &Value, given: &Value) -> Option<Ordering> {
    match (found, given) {
        (Value::Number(found), Value::Number(given)) => numbers(found, given),
        _ => None,
    }
}

/// Compares whole numbers exactly, and other numbers as floating point.
fn numbers(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn contains(found: &Value, given: &Value) -> bool {
    let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    match found {
        Value::String(found) => found.contains(&text),
        Value::Array(values) => values.iter().any(|value| equal(value, given)),
        Value::Object(values) => values.contains_key(&text),
        _ => false,
    }
}

/// A pattern in a file that does not compile is refused when the file is parsed. Other invalid patterns match nothing.
fn matches(found: &Value, pattern: &Value) -> bool {
    let (Some(text), Some(pattern)) = (found.as_str(), pattern.as_str()) else { return false };
    pattern::compile(pattern).is_ok_and(|pattern| pattern.is_match(text))
}
