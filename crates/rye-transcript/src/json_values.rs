//! The number of values in a JSON text, counted before they are kept.

/// Returns an upper bound of the number of values in a JSON text.
///
/// Each value but the first of a list follows a comma, and the first follows a bracket.
#[must_use]
pub fn count_json_values(json: &[u8]) -> usize {
    let mut count = 0;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in [("1", 0), (r#"{"a":[1,2],"b,[{":",[{\\\",["}"#, 4), ("[[],[],{}]", 6)]
        {
            assert_eq!(count_json_values(json.as_bytes()), count, "{json}");
        }
    }
}
