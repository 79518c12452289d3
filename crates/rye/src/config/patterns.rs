//! Lists of capability patterns in configuration, as `grants` of trust and `ask` of approval are.

use rye_caps::{Grant, Pattern};
use rye_resolve::Item;
use serde_json::Value;

use super::read::{ConfigError, ConfigProblem};
use crate::session::canonical;

/// Returns a problem for each text in the list `member` of `value` that is no pattern. The value has the form
/// of its file.
pub(super) fn bad_patterns(value: &Value, member: &str) -> Vec<ConfigProblem> {
    let listed = value.get(member).and_then(Value::as_array);
    let texts = listed.into_iter().flatten().filter_map(Value::as_str).enumerate();
    let wrong = |(index, text): (usize, &str)| {
        let error = text.parse::<Pattern>().err()?;
        Some(ConfigProblem::new(&format!("/{member}/{index}"), error.to_string()))
    };
    texts.filter_map(wrong).collect()
}

/// The grant of a list that was read of `layer` by the schema `schema`, which has told of all that is no pattern.
pub(super) fn parse_grant(
    patterns: &[String],
    schema: &'static str,
    layer: &Item<Value>,
) -> Result<Grant, ConfigError> {
    let read: Result<Vec<Pattern>, _> = patterns.iter().map(|text| text.parse()).collect();
    let patterns = read.map_err(|error| ConfigError {
        location: layer.location.to_string(),
        schema,
        problems: vec![error.to_string()],
    })?;
    Ok(patterns.into_iter().flat_map(canonical).collect())
}
