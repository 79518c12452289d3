//! The limit on the nesting of values in a conversation.

use serde_json::Value;

/// The maximum number of nested arrays and objects. JSON is read to 128 levels, and a record adds some around each
/// value.
pub(super) const MAX_DEPTH: usize = 64;

/// Returns `true` if a value has more levels than a record keeps.
pub(super) fn nests_too_deep(value: &Value) -> bool {
    nests_deeper(value, MAX_DEPTH)
}

/// Returns `true` if a value has more than `levels` levels. It looks no deeper than that.
#[must_use]
pub fn nests_deeper(value: &Value, levels: usize) -> bool {
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        return false;
    }
    let Some(left) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| nests_deeper(item, left)),
        Value::Object(members) => members.values().any(|member| nests_deeper(member, left)),
        _ => false,
    }
}

/// Returns the number of values in a value, which counts, too.
#[must_use]
pub fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, level| {
            if level % 2 == 0 { json!([inner]) } else { json!({ "a": 0, "b": inner }) }
        })
    }

    #[test]
    fn levels_are_counted() {
        for (levels, is_too_deep) in [(0, false), (1, false), (64, false), (65, true), (126, true)]
        {
            assert_eq!(nests_too_deep(&nested(levels)), is_too_deep, "{levels}");
        }
        assert!(!nests_too_deep(&json!([[], {}, [[[]]]])));
        assert!(nests_deeper(&json!([]), 0) && !nests_deeper(&json!([]), 1));
    }
}
