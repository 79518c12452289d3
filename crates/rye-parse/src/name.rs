//! The grammars of short names, and suggestions for wrong names.

/// Returns `true` if `c` is allowed in the name of an input, an output, a step or a parameter.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns `true` if the text is a name: letters, digits, `_` and `-`.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_char)
}

/// Returns `true` if `text` has the form of an item id (SPEC 1.3).
pub(crate) fn is_item_id(text: &str) -> bool {
    text.len() <= 256 && text.split('/').all(is_id_segment)
}

/// Returns `true` if the text is a segment of an item id.
fn is_id_segment(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}
