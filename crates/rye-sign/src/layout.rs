//! Where the signature line of a text is.

use crate::comment::CommentStyle;
use crate::envelope::{SIGNED, is_placeholder};

/// A text, cut at its signature line; the three parts together are the text, save the line's own end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// A byte order mark, a `#!` line with its end, both or nothing.
    pub(crate) head: &'a str,
    /// The signature line without its end.
    pub(crate) line: Option<Line<'a>>,
    /// Everything below.
    pub(crate) rest: &'a str,
}

/// What the first line claims to be, whether or not it is well-formed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line<'a> {
    Signed(&'a str),
    Unsigned(&'a str),
}

impl<'a> Layout<'a> {
    /// Cuts a text; the line is looked for on line 1, or on line 2 below a `#!` line, and nowhere else (SPEC 2.1).
    pub(crate) fn of(text: &'a str) -> Self {
        let (head, below) = split_head(text);
        let (line, rest) = below.split_once('\n').unwrap_or((below, ""));
        match Line::of(line.strip_suffix('\r').unwrap_or(line)) {
            Some(line) => Self { head, line: Some(line), rest },
            None => Self { head, line: None, rest: below },
        }
    }

    /// Whether the text begins with a `#!` line.
    pub(crate) fn has_shebang(&self) -> bool {
        !self.head.trim_start_matches(BYTE_ORDER_MARK).is_empty()
    }

    /// The 1-based number of the signature line.
    pub(crate) fn line_number(&self) -> usize {
        if self.has_shebang() { 2 } else { 1 }
    }
}

/// Cuts off a byte order mark and a `#!` line, above which no signature line may stand.
pub(crate) fn split_head(text: &str) -> (&str, &str) {
    let below_mark = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let first_line_len = below_mark.find('\n').map_or(below_mark.len(), |end| end + 1);
    let shebang_len = if below_mark.starts_with("#!") { first_line_len } else { 0 };
    text.split_at(text.len() - below_mark.len() + shebang_len)
}

impl<'a> Line<'a> {
    /// Recognises a claim in any comment style and with stray white space, so that it is reported, not overlooked.
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

    /// Other text on the line, as a line of its own that is still a comment where it was one.
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
