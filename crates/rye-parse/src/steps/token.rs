//! The relevant parts of a body: tags, headings and code spans outside quoted material.
//!
//! A body is pseudo-XML inside Markdown. Tags inside fenced blocks, comments, CDATA and opaque elements are ignored,
//! but only if these are closed. Failed searches for an end are remembered, so that the total time stays linear.

use std::{collections::BTreeSet, ops::Range};

use memchr::{memchr, memchr3};

use crate::xml::OPAQUE;

/// The recognized tags.
const TAGS: [&str; 8] =
    ["process", "step", "description", "execute", "search", "load", "sign", "fetch"];

/// The start of every call.
const CALL: &str = "rye_";

/// The longest run of backticks or tildes that counts. It bounds the number of searches that can fail.
const LONGEST_RUN: usize = 32;

/// The longest recognized start tag.
const LONGEST_TAG: usize = 64 * 1024;

/// One relevant part, with its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'s> {
    /// A start tag.
    Open(&'s str),
    /// An empty-element tag.
    Empty(&'s str),
    /// An end tag.
    Close(&'s str),
    /// An inline code span that may be a call, with its text. Other code spans are not tokens.
    Code(&'s str),
    /// The start of a code span with a call whose end is missing, with the rest of its line.
    UnclosedCode(&'s str),
    /// A tag with the attributes of a call and an unknown name.
    Unknown(&'s str),
    /// An empty element with attributes and an unknown name.
    Other(&'s str),
    /// The start of markup whose content is no step, and whose end is missing.
    UnclosedMarkup(&'s str),
    /// A heading, or a line in bold, with its text.
    Heading(&'s str),
}

/// Returns the tokens of `range` of the file, in order.
pub(super) fn tokens(source: &str, range: Range<usize>) -> Vec<Token<'_>> {
    let text = source.get(range.clone()).unwrap_or("");
    let mut scanner = Scanner {
        text,
        base: range.start,
        failed: BTreeSet::new(),
        unclosed: BTreeSet::new(),
        paragraph: 0,
        tokens: Vec::with_capacity(16),
    };
    let mut at = 0;
    while at < text.len() {
        at = scanner.next(at);
    }
    scanner.tokens
}

struct Scanner<'s> {
    text: &'s str,
    base: usize,
    /// The ends that do not occur in the rest of the text.
    failed: BTreeSet<String>,
    /// The lengths of backtick runs that are not closed in this paragraph.
    unclosed: BTreeSet<usize>,
    /// The end of the paragraph to which `unclosed` applies.
    paragraph: usize,
    tokens: Vec<Token<'s>>,
}

impl<'s> Scanner<'s> {
    /// Processes the text at `at`. Returns the position after it.
    fn next(&mut self, at: usize) -> usize {
        let rest = self.rest(at);
        if self.is_line_start(at) && may_be_marked(rest) {
            if let Some(end) = self.fence(at, rest) {
                return end;
            }
            self.heading(at, rest);
        }
        match rest.as_bytes().first() {
            Some(b'`') => self.code(at, rest),
            Some(b'<') => self.markup(at, rest),
            Some(b'\n') => at + 1,
            _ => {
                // Each of the three characters is one byte.
                let skip = memchr3(b'`', b'<', b'\n', rest.as_bytes());
                match skip {
                    Some(next) => {
                        at + next + usize::from(rest.as_bytes().get(next) == Some(&b'\n'))
                    }
                    None => self.text.len(),
                }
            }
        }
    }

    fn rest(&self, at: usize) -> &'s str {
        self.text.get(at..).unwrap_or("")
    }

    fn is_line_start(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| self.text.as_bytes().get(before) == Some(&b'\n'))
    }

    /// Returns the end of the fenced block whose first line starts at `at`.
    fn fence(&mut self, at: usize, rest: &'s str) -> Option<usize> {
        let (line, inside) = rest.split_once('\n')?;
        let (marker, length) = run(line.trim_start())?;
        let info = line.trim_start().get(length..)?;
        let end = format!("{marker}{length}");
        if length < 3 || (marker == '`' && info.contains('`')) || self.failed.contains(&end) {
            return None;
        }
        let mut next = at + line.len() + 1;
        for line in inside.split_inclusive('\n') {
            next += line.len();
            let closes = run(line.trim())
                .is_some_and(|(c, n)| c == marker && length <= n && n == line.trim().len());
            if closes {
                return Some(next);
            }
        }
        self.failed.insert(end);
        None
    }

    /// Records a heading or a line in bold. Its content is processed as well.
    fn heading(&mut self, at: usize, rest: &'s str) {
        let line = rest.lines().next().unwrap_or("");
        let text = line.trim();
        let marks = text.len() - text.trim_start_matches('#').len();
        let unnumbered = text
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')', ' ']);
        let heading = match text.get(marks..) {
            Some(title) if (1..=6).contains(&marks) && title.starts_with(' ') => Some(title.trim()),
            _ => unnumbered.strip_prefix("**").and_then(|bold| bold.strip_suffix("**")),
        };
        if let Some(heading) =
            heading.filter(|heading| !heading.is_empty() && !heading.contains("**"))
        {
            self.push(Kind::Heading(heading), at..at + line.len());
        }
    }

    /// Processes a code span. It ends in the same paragraph with as many backticks as at its start.
    fn code(&mut self, at: usize, rest: &'s str) -> usize {
        let length = rest.len() - rest.trim_start_matches('`').len();
        if self.paragraph <= at {
            self.paragraph = at + paragraph_end(rest);
            self.unclosed.clear();
        }
        if LONGEST_RUN < length || self.unclosed.contains(&length) {
            return at + length;
        }
        let inside = self.text.get(at + length..self.paragraph).unwrap_or("");
        let Some(close) = closing_run(inside, length) else {
            self.unclosed.insert(length);
            let line = inside.lines().next().unwrap_or("").trim_end();
            if line.trim_start().starts_with(CALL) {
                self.push(Kind::UnclosedCode(line.trim_start()), at..at + length + line.len());
            }
            return at + length;
        };
        let span = at..at + length + close + length;
        let code = inside.get(..close).unwrap_or("").trim();
        if code.starts_with(CALL) {
            self.push(Kind::Code(code), span.clone());
        }
        span.end
    }

    /// Processes a comment, CDATA section, opaque element or tag.
    fn markup(&mut self, at: usize, rest: &'s str) -> usize {
        let hidden = [("<!--", "-->"), ("<![CDATA[", "]]>")];
        if let Some((start, end)) = hidden.iter().find(|(start, _)| rest.starts_with(start)) {
            return self.skip(at, rest, rest.get(..start.len()).unwrap_or(""), end);
        }
        let (name, closes) = match rest.strip_prefix("</") {
            Some(after) => (tag_name(after), true),
            None => (tag_name(rest.get(1..).unwrap_or("")), false),
        };
        if !closes && OPAQUE.contains(&name) {
            let tag = rest.get(..name.len() + 1).unwrap_or("");
            return self.skip(at, rest, tag, &format!("</{name}>"));
        }
        let Some(name) = TAGS.iter().copied().find(|tag| *tag == name) else {
            return if closes { at + 1 } else { self.unknown(at, rest, name) };
        };
        let Some(length) = tag_length(rest) else { return at + 1 };
        let empty = rest.get(..length).is_some_and(|tag| tag.ends_with("/>"));
        let kind = match (closes, empty) {
            (true, _) => Kind::Close(name),
            (false, true) => Kind::Empty(name),
            (false, false) => Kind::Open(name),
        };
        self.push(kind, at..at + length);
        at + length
    }

    /// Returns the position after markup, or after its first character if its end is missing.
    fn skip(&mut self, at: usize, rest: &'s str, start: &'s str, end: &str) -> usize {
        match self.find(rest, end) {
            Some(length) => at + length,
            None => {
                self.push(Kind::UnclosedMarkup(start), at..at + start.len());
                at + 1
            }
        }
    }

    /// Records a tag that is nearly a call: it names an item, and its own name is not known.
    fn unknown(&mut self, at: usize, rest: &'s str, name: &'s str) -> usize {
        let names_item = |tag: &str| [" item_id=", " item_type="].iter().any(|it| tag.contains(it));
        let may_be = !name.is_empty() && rest.get(name.len() + 1..).is_some_and(starts_blank);
        match tag_length(rest).filter(|_| may_be) {
            Some(length) if rest.get(..length).is_some_and(names_item) => {
                self.push(Kind::Unknown(name), at..at + length);
                at + length
            }
            Some(length) if rest.get(..length).is_some_and(is_empty_with_attributes) => {
                self.push(Kind::Other(name), at..at + length);
                at + length
            }
            _ => at + 1,
        }
    }

    /// Returns the position after the first `end` in `rest`.
    fn find(&mut self, rest: &str, end: &str) -> Option<usize> {
        if self.failed.contains(end) {
            return None;
        }
        let found = rest.find(end).map(|start| start + end.len());
        if found.is_none() {
            self.failed.insert(end.to_owned());
        }
        found
    }

    fn push(&mut self, kind: Kind<'s>, span: Range<usize>) {
        self.tokens.push(Token { kind, span: self.base + span.start..self.base + span.end });
    }
}

/// Returns `true` if the first character allows a fence, a heading or a bold line. Most lines begin with a letter.
fn may_be_marked(line: &str) -> bool {
    let first = line.bytes().find(|byte| !matches!(byte, b' ' | b'\t'));
    first.is_some_and(|byte| match byte {
        b'`' | b'~' | b'#' | b'*' | b'.' | b')' | b'0'..=b'9' => true,
        b'\n' => false,
        // Other characters may be white space.
        other => !other.is_ascii_graphic(),
    })
}

/// Returns the marker and length of a run of backticks or tildes at the start of a line.
fn run(line: &str) -> Option<(char, usize)> {
    let marker = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(marker).len();
    (length <= LONGEST_RUN).then_some((marker, length))
}

/// Returns the start of the first blank line of a text.
fn paragraph_end(text: &str) -> usize {
    let mut end = 0;
    while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
        let length = memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |newline| newline + 1);
        if rest.get(..length).is_some_and(|line| line.trim_start().is_empty()) {
            break;
        }
        end += length;
    }
    end
}

/// Returns the start of the first run of exactly `length` backticks.
fn closing_run(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = memchr(b'`', text.as_bytes().get(at..)?) {
        let start = at + start;
        let rest = text.as_bytes().get(start..)?;
        let found = rest.iter().take_while(|byte| **byte == b'`').count();
        if found == length {
            return Some(start);
        }
        at = start + found;
    }
    None
}

fn is_empty_with_attributes(tag: &str) -> bool {
    tag.ends_with("/>") && tag.contains('=')
}

fn starts_blank(text: &str) -> bool {
    text.starts_with(char::is_whitespace)
}

/// Returns the name at the start of a tag.
fn tag_name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')));
    text.get(..end.unwrap_or(text.len())).unwrap_or("")
}

/// Returns the length of a tag with its `>`; `None` if a `<` outside quotes comes first.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    // Every relevant character is one byte, and no byte of a longer character is equal to it.
    for (at, byte) in text.bytes().enumerate().skip(1).take(LONGEST_TAG) {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'<') => return None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}
