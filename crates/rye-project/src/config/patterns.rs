//! Lists of capability patterns in configuration, as `grants` of trust and `ask` of approval are.

use rye_caps::{Grant, Pattern};
use rye_resolve::Item;
use serde_json::Value;

use super::read::{ConfigError, ConfigProblem};
use crate::aliases::canonical;

/// Returns a problem for each text in the list `member` of `value` that is no pattern, or that covers no
/// capability. The value has the form of its file.
pub(super) fn bad_patterns(value: &Value, member: &str) -> Vec<ConfigProblem> {
    let listed = value.get(member).and_then(Value::as_array);
    let texts = listed.into_iter().flatten().filter_map(Value::as_str).enumerate();
    let wrong = |(index, text): (usize, &str)| {
        let problem = parse_pattern(text).err()?;
        Some(ConfigProblem::new(&format!("/{member}/{index}"), problem))
    };
    texts.filter_map(wrong).collect()
}

/// Returns the grant of a list in `layer`, a file of the schema `schema`.
///
/// # Errors
///
/// The function fails if a text is no pattern, or covers no capability.
pub(super) fn parse_grant(
    patterns: &[String],
    schema: &'static str,
    layer: &Item<Value>,
) -> Result<Grant, ConfigError> {
    let read: Result<Vec<Pattern>, _> = patterns.iter().map(|text| parse_pattern(text)).collect();
    let patterns = read.map_err(|problem| ConfigError {
        location: layer.location.to_string(),
        schema,
        problems: vec![problem],
    })?;
    Ok(patterns.into_iter().flat_map(canonical).collect())
}

/// Parses a pattern. One that covers no capability is refused, because a rule that never applies protects nothing.
fn parse_pattern(text: &str) -> Result<Pattern, String> {
    let pattern: Pattern = text.parse().map_err(|error| format!("{error}"))?;
    match pattern.example() {
        Some(_) => Ok(pattern),
        None => Err(format!(
            "`{}` covers no capability; write `rye.<primary>.<kind>.<id>`, such as `rye.execute.tool.rye.bash.*`",
            pattern.as_str()
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_that_covers_no_capability_is_refused_at_its_place() {
        let ask = [
            "*",
            "rye.*",
            "rye.fetch.*",
            "rye.execute.tool.rye.bash.bash",
            "rye/file-system/write",
            "rye.execute.tools.rye.file-system.*",
            "{",
        ];
        let problems = bad_patterns(&json!({ "ask": ask }), "ask");
        let told: Vec<String> = problems.iter().map(|problem| format!("{problem:?}")).collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
