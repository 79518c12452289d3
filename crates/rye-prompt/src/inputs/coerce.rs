//! Turning what was given into what was declared.

use rye_parse::ValueType;
use serde_json::Value;

use crate::json::compact;

/// The value as the declared type, or `None` when it cannot be read as one.
pub(crate) fn coerce(value: &Value, to: ValueType) -> Option<Value> {
    match (to, value) {
        (ValueType::String, Value::String(_))
        | (ValueType::Number, Value::Number(_))
        | (ValueType::Boolean, Value::Bool(_))
        | (ValueType::Array, Value::Array(_))
        | (ValueType::Object, Value::Object(_)) => Some(value.clone()),
        (ValueType::Integer, Value::Number(number)) => whole(number),
        (ValueType::String, Value::Number(_) | Value::Bool(_)) => {
            Some(Value::String(value.to_string()))
        }
        (_, Value::String(text)) => read(text, to),
        _ => None,
    }
}

/// Whether the value is among the choices, which are written as text and read as the declared type.
/// No choices: anything goes.
pub(super) fn chosen(value: &Value, choices: &[String], declared: ValueType) -> bool {
    let is = |choice: &String| match coerce(&Value::from(choice.as_str()), declared) {
        // `1` and `1.0` are one number, and two JSON values.
        Some(Value::Number(choice)) => value.as_f64() == choice.as_f64(),
        choice => choice.as_ref() == Some(value),
    };
    choices.is_empty() || choices.iter().any(is)
}

/// A value as an error calls it, shortened.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("the boolean `{value}`"),
        Value::Number(_) => format!("the number `{value}`"),
        Value::String(text) => format!("the text `{}`", shortened(text)),
        Value::Array(_) => format!("the array `{}`", shortened(&compact(value))),
        Value::Object(_) => format!("the object `{}`", shortened(&compact(value))),
    }
}

fn whole(number: &serde_json::Number) -> Option<Value> {
    // Past 2^53 a float no longer tells neighbouring integers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_i64() || number.is_u64() {
        return Some(Value::Number(number.clone()));
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number below 2^53 fits an i64 exactly"
    )]
    Some(Value::from(float as i64))
}

fn read(text: &str, to: ValueType) -> Option<Value> {
    match to {
        ValueType::String => Some(Value::from(text)),
        ValueType::Integer => integer(text),
        ValueType::Number => integer(text).or_else(|| float(text)),
        ValueType::Boolean => text.parse::<bool>().ok().map(Value::from),
        ValueType::Array => serde_json::from_str(text).ok().filter(Value::is_array),
        ValueType::Object => serde_json::from_str(text).ok().filter(Value::is_object),
    }
}

fn integer(text: &str) -> Option<Value> {
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok()
}

fn float(text: &str) -> Option<Value> {
    // `inf` and `nan` parse as floats, and are no JSON numbers.
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).chain(['…']).collect()
    }
}
