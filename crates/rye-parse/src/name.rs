//! The grammars of short names, and the nearest valid one to a wrong one.

/// Whether `c` may stand in the name of an input, an output, a step or a parameter.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Whether a placeholder can name this: letters, digits, `_` and `-`.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_char)
}

/// Whether `text` has the shape of an item id (SPEC 1.3).
pub(crate) fn is_item_id(text: &str) -> bool {
    text.len() <= 256 && text.split('/').all(is_id_segment)
}

/// The candidate that a person most likely meant by `given`.
pub(crate) fn nearest<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    candidates
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&given, candidate), *candidate))
        .filter(|(score, _)| 0.8 < *score)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// "did you mean `x`? valid: `x`, `y`", without the question when nothing is near.
pub(crate) fn suggestion(given: &str, candidates: &[&str]) -> String {
    let valid = format!("valid: {}", quoted(candidates));
    match nearest(given, candidates) {
        Some(candidate) => format!("did you mean `{candidate}`? {valid}"),
        None => valid,
    }
}

/// The names in backticks, with commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// One segment of an item id.
fn is_id_segment(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}
