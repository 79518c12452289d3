//! The depth of brackets in a text, checked before parsing.
//!
//! The parser's time grows with the length of the text times the depth of its `[` and `{`, so brackets are counted
//! first, in one pass. Brackets in quotes and comments do not count, but whether a character opens a quote or a comment
//! depends on all the text before it. While this is certain, such brackets are skipped. From the first uncertain place
//! on, every opening bracket counts and closing ones do not. The result is therefore never less than the true depth.

use crate::ProblemKind;

/// The greatest depth (SPEC 4.2).
const DEPTH: usize = 64;

/// The greatest product of depth and length if the depth is only an upper bound. The parser needs less than a second
/// for it.
const WORK: usize = 200_000_000;

/// Returns the place and the problem of the first bracket that is too deep.
pub(super) fn too_deep(text: &str) -> Option<(usize, ProblemKind)> {
    let most = WORK / text.len().max(1);
    let mut scan = Scan::default();
    for (at, c) in text.char_indices() {
        scan.next(c);
        if scan.certain && DEPTH < scan.depth {
            return Some((at, ProblemKind::TooDeep { what: "brackets".to_owned(), limit: DEPTH }));
        }
        if most < scan.depth {
            let what = "opening brackets beside quotes that span lines".to_owned();
            return Some((at, ProblemKind::TooMany { what, limit: most }));
        }
    }
    None
}

/// The state of the scan before a character.
struct Scan {
    depth: usize,
    /// `true` if quotes and comments were recognized with certainty so far.
    certain: bool,
    quote: Option<char>,
    /// `true` if the previous character was a backslash in double quotes.
    escaped: bool,
    comment: bool,
    /// `true` if the line so far contains only white space and entry signs.
    line_start: bool,
    /// The previous character.
    previous: char,
    /// The last character that is not white space; a line feed at the start.
    token: char,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            depth: 0,
            certain: true,
            quote: None,
            escaped: false,
            comment: false,
            line_start: true,
            previous: '\n',
            token: '\n',
        }
    }
}

impl Scan {
    fn next(&mut self, c: char) {
        match (c, self.quote) {
            _ if !self.certain => self.depth += usize::from(matches!(c, '[' | '{')),
            ('\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}', quote) => {
                self.certain = quote.is_none();
                (self.comment, self.line_start, self.token) = (false, true, '\n');
            }
            _ if self.comment => {}
            (c, Some(quote)) => self.read_quoted(c, quote),
            (c, None) => self.read_plain(c),
        }
        self.previous = c;
        if !c.is_whitespace() && self.quote.is_none() {
            self.token = c;
        }
    }

    fn read_quoted(&mut self, c: char, quote: char) {
        match c {
            _ if self.escaped => self.escaped = false,
            '\\' if quote == '"' => self.escaped = true,
            c if c == quote => self.quote = None,
            _ => {}
        }
    }

    fn read_plain(&mut self, c: char) {
        match c {
            '[' | '{' => self.depth += 1,
            ']' | '}' => self.depth = self.depth.saturating_sub(1),
            '#' if self.starts_comment() => self.comment = true,
            // Inside a word, as in `a#b` and `don't`, both are plain letters.
            '#' | '\'' if self.previous.is_alphanumeric() => {}
            // Two single quotes in a row: the quote that was just closed continues.
            '\'' if self.previous == '\'' => self.quote = Some('\''),
            '"' | '\'' if self.starts_token() => self.quote = Some(c),
            '#' | '"' | '\'' => self.certain = false,
            _ => {}
        }
        self.line_start &=
            c.is_whitespace() || (matches!(c, '-' | '?') && self.previous.is_whitespace());
    }

    fn starts_comment(&self) -> bool {
        self.previous.is_whitespace()
            || matches!(self.previous, '[' | ']' | '{' | '}' | ',' | '"' | '\'')
    }

    /// Returns `true` if a quote at this place certainly opens a quoted text.
    fn starts_token(&self) -> bool {
        match self.token {
            '[' | '{' | ',' => true,
            ':' => self.previous.is_whitespace(),
            _ => self.line_start && self.previous.is_whitespace(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::too_deep;
    use crate::ProblemKind;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let found = too_deep(text).map(|(_, kind)| kind);
        let said = found.as_ref().map(|kind: &ProblemKind| kind.code());
        assert_eq!(said, expected);
    }

    #[test]
    fn real_depth_is_found() {
        check(&"[".repeat(64), None);
        check(&"[".repeat(65), Some("too-deep"));
        check(&"{a: ".repeat(65), Some("too-deep"));
        check(&"[\n".repeat(65), Some("too-deep"));
    }

    #[test]
    fn hidden_brackets_do_not_count() {
        check(&"a: \"[[[[\"\n".repeat(100), None);
        check(&"- '[[[['\n".repeat(100), None);
        check(&"a: 'it''s [['\n".repeat(100), None);
        check(&"a: \"\\\"[\"\n".repeat(100), None);
        check(&"a: 1 # [[[[\n".repeat(100), None);
        check(&"a: don't [x] a#b\n".repeat(100), None);
        check(&"a: [\"x\", 'y']\n".repeat(6_000), None);
    }

    #[test]
    fn closing_brackets_cannot_be_hidden() {
        for hidden in ["[ #]\n", "[#]\n", "[ \"]\",", "[ ']',", "[ '''],',", "{\"a\": #}\n"] {
            check(&hidden.repeat(65), Some("too-deep"));
        }
        for doubtful in
            ["[ \"\n]\",", "[&a \"]\",", "[? \"]\",", "{\"a\":#}\n", "[a - \"x, [ [ \"\n"]
        {
            check(&doubtful.repeat(150_000 / doubtful.len()), Some("too-many"));
        }
    }

    #[test]
    fn doubt_is_not_an_error() {
        let text = format!("a: \"one\n  two\"\n{}", "b: [1, 2]\n".repeat(500));
        check(&text, None);
    }
}
