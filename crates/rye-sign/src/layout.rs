//! The position of the signature line in a text.

use std::ops::Range;

use crate::comment::CommentStyle;
use crate::digest::Digest;
use crate::envelope::{SIGNED, is_placeholder};

/// A text, split at its signature line. The three parts together are the text without the end of that line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// A byte order mark, a `#!` line with its line end, both, or nothing.
    pub(crate) head: &'a str,
    /// The signature line without its line end.
    pub(crate) line: Option<Line<'a>>,
    /// Everything below the signature line.
    pub(crate) rest: &'a str,
}

/// A line that claims to be a signature or a placeholder; it may be malformed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line<'a> {
    Signed(&'a str),
    Unsigned(&'a str),
}

impl<'a> Layout<'a> {
    /// Splits a text. The signature line is line 1, or line 2 below a `#!` line; other lines are not searched
    /// (SPEC 2.1).
    pub(crate) fn of(text: &'a str) -> Self {
        let (head, below) = split_head(text);
        let (line, rest) = below.split_once('\n').unwrap_or((below, ""));
        match Line::of(line.strip_suffix('\r').unwrap_or(line)) {
            Some(line) => Self { head, line: Some(line), rest },
            None => Self { head, line: None, rest: below },
        }
    }

    /// Returns `true` if the text begins with a `#!` line.
    pub(crate) fn has_shebang(&self) -> bool {
        !self.head.trim_start_matches(BYTE_ORDER_MARK).is_empty()
    }

    /// The 1-based number of the signature line.
    pub(crate) fn line_number(&self) -> usize {
        if self.has_shebang() { 2 } else { 1 }
    }
}

impl Digest {
    /// Returns the digest that a new signature of this text states (SPEC 2.1, 2.3). It covers every byte except the
    /// signature line, with CRLF read as LF. Signing the text again does not change it.
    #[must_use]
    pub fn of_content(text: &str) -> Self {
        let Layout { head, rest, .. } = Layout::of(text);
        Self::of_parts(&[head, rest])
    }
}

/// Returns a text without its signature line, be it well formed or not, for a copy that its reader is to review and to sign.
pub fn without_signature_line(text: &str) -> String {
    let Layout { head, line, rest } = Layout::of(text);
    match line {
        Some(_) => format!("{head}{rest}"),
        None => text.to_owned(),
    }
}

/// Returns the place of the first line that looks like a signature, or like the placeholder for one, and that is none because it is
/// content: it is not where the signature line is (SPEC 2.2).
pub fn further_signature_line(text: &str) -> Option<Range<usize>> {
    let Layout { rest, .. } = Layout::of(text);
    // Most texts have none, and are not looked at line by line.
    if !rest.contains("rye:") {
        return None;
    }
    let mut next = text.len() - rest.len();
    for line in rest.split_inclusive('\n') {
        let shown = line.trim_end_matches(['\n', '\r']);
        if Line::of(shown).is_some() {
            return Some(next..next + shown.len());
        }
        next += line.len();
    }
    None
}

/// Splits off a byte order mark and a `#!` line. The signature line belongs below them.
pub(crate) fn split_head(text: &str) -> (&str, &str) {
    let below_mark = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let first_line_len = below_mark.find('\n').map_or(below_mark.len(), |end| end + 1);
    let shebang_len = if below_mark.starts_with("#!") { first_line_len } else { 0 };
    text.split_at(text.len() - below_mark.len() + shebang_len)
}

impl<'a> Line<'a> {
    /// Recognizes the line in any comment style and with stray white space, so that a malformed one is reported, not
    /// ignored.
    fn of(line: &'a str) -> Option<Self> {
        let inner = CommentStyle::ALL
            .into_iter()
            .find_map(|style| line.trim_start().strip_prefix(style.opener()))?;
        let inner = inner.trim_start();
        let fields = inner.split(char::is_whitespace).next().unwrap_or(inner);
        if inner.starts_with("rye:unsigned") || is_placeholder(fields) {
            Some(Self::Unsigned(line))
        } else {
            inner.starts_with(SIGNED).then_some(Self::Signed(line))
        }
    }

    /// Returns other text on the line as a line of its own. In a hash or slash comment, it becomes a comment again.
    pub(crate) fn text_beside(&self) -> Option<String> {
        let (Self::Signed(line) | Self::Unsigned(line)) = self;
        let style = CommentStyle::ALL
            .into_iter()
            .find(|style| line.trim_start().starts_with(style.opener()))?;
        if let Some((_, beside)) = line.split_once("-->") {
            return (!beside.trim().is_empty()).then(|| beside.trim().to_owned());
        }
        let inner = line.trim_start().strip_prefix(style.opener())?.trim_start();
        let (_, beside) = inner.split_once(char::is_whitespace)?;
        let beside = beside.trim();
        match style {
            _ if beside.is_empty() => None,
            CommentStyle::Html => Some(beside.to_owned()),
            CommentStyle::Hash | CommentStyle::Slash => {
                Some(format!("{} {beside}", style.opener()))
            }
        }
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[cfg(test)]
mod tests {
    use super::without_signature_line;

    #[test]
    fn a_copy_has_no_signature_line() {
        let line = "rye:signed:2026-01-01T00:00:00Z:00:00:00";
        for (text, expected) in [
            (format!("<!-- {line} -->\n# A\n"), "# A\n"),
            (format!("#!/bin/sh\n# {line}\necho\n"), "#!/bin/sh\necho\n"),
            ("# A\n".to_owned(), "# A\n"),
            (format!("# A\n<!-- {line} -->\n"), &*format!("# A\n<!-- {line} -->\n")),
            ("<!-- rye:unsigned -->\nx".to_owned(), "x"),
        ] {
            assert_eq!(without_signature_line(&text), expected, "{text}");
        }
    }
}
