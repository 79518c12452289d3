//! The grammars of short names.

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

/// One segment of an item id.
fn is_id_segment(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}
