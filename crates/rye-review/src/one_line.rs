//! Text of others inside one line of output.

/// Returns a text of a file as a part of one line: its line ends are spelled out, so that it makes no line of its own.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\r', "\\r").replace('\n', "\\n")
}
