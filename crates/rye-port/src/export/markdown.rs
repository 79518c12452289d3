//! Texts of authors as parts of Markdown and of YAML.

use rye_parse::hidden_characters;

/// The text in one line, with single spaces and without characters that a person does not see.
pub(super) fn one_line(text: &str) -> String {
    let mut hidden = hidden_characters(text).peekable();
    let shown: String = text
        .char_indices()
        .map(|(at, c)| {
            let is_hidden = hidden.next_if_eq(&(at, c)).is_some();
            if is_hidden || c.is_control() { ' ' } else { c }
        })
        .collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text as code in one line, which nothing in it ends.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// The text in one line as a YAML scalar between double quotes. Programs split a file at three hyphens to find its frontmatter, so
/// these stand nowhere in it.
pub(super) fn quoted(text: &str) -> String {
    let escaped = one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = escaped.replace("---", "--\\u002d");
    format!("\"{escaped}\"")
}
