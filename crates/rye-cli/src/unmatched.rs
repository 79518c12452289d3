//! Warnings of patterns of an option that cover nothing, which are often mistyped.

use rye::Rye;
use rye::caps::Pattern;

/// Returns a warning for each of the patterns that covers no item and no function behind a tool.
///
/// `option` is the option that gave the patterns, such as `--allow`.
pub(crate) fn warnings(option: &str, patterns: &[Pattern], rye: &Rye) -> Vec<String> {
    let unmatched = rye.unmatched_patterns(patterns).into_iter();
    unmatched.map(|pattern| warning(option, pattern, rye.nearest_pattern(pattern))).collect()
}

/// Returns the warnings of [`warnings`] for those patterns alone that are similar to one that covers something.
pub(crate) fn near_warnings(option: &str, patterns: &[Pattern], rye: &Rye) -> Vec<String> {
    let unmatched = rye.unmatched_patterns(patterns).into_iter();
    let near = unmatched.filter_map(|pattern| Some((pattern, rye.nearest_pattern(pattern)?)));
    near.map(|(pattern, near)| warning(option, pattern, Some(near))).collect()
}

fn warning(option: &str, pattern: &Pattern, near: Option<String>) -> String {
    let mend = match near {
        Some(near) => format!("did you mean `{option} {near}`?"),
        None if !pattern.as_str().starts_with("rye.") => {
            "a pattern begins with `rye.`, such as `rye.execute.tool.ID`".to_owned()
        }
        None => "`rye list` shows the ids of all items".to_owned(),
    };
    format!(
        "`{option} {pattern}` covers no item that is there and no function behind a tool; {mend}"
    )
}
