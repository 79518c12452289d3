//! Conversion of given values to declared types.

use rye_types::ValueType;
use serde_json::Value;

use crate::json::compact;

/// Converts the value to the declared type. Returns `None` if that is not possible.
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

/// Returns `true` if the value is one of the choices, which are texts and are converted to the declared type. If there
/// are no choices, every value is allowed.
pub(super) fn is_chosen(value: &Value, choices: &[String], declared: ValueType) -> bool {
    let is = |choice: &String| match coerce(&Value::from(choice.as_str()), declared) {
        // `1` and `1.0` are the same number, but two JSON values.
        Some(Value::Number(choice)) => value.as_f64() == choice.as_f64(),
        choice => choice.as_ref() == Some(value),
    };
    choices.is_empty() || choices.iter().any(is)
}

/// Describes a value for an error message, shortened.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("the boolean `{value}`"),
        Value::Number(_) => format!("the number `{value}`"),
        Value::String(text) => format!("the text `{}`", shorten(text)),
        Value::Array(_) => format!("the array `{}`", shorten(&compact(value))),
        Value::Object(_) => format!("the object `{}`", shorten(&compact(value))),
    }
}

fn whole(number: &serde_json::Number) -> Option<Value> {
    // Above 2^53, a float cannot distinguish neighbouring integers.
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
    // `inf` and `nan` are valid floats, but not JSON numbers.
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).chain(['…']).collect()
    }
}
