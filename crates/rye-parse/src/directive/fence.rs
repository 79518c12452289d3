//! The fence with the directive in a Markdown file (SPEC 3.1).

use std::ops::Range;

use memchr::memchr;

use crate::{Problem, ProblemKind, Spanned, problem::Report, span::trim_range, yaml::MARK};

/// The longest allowed fence (SPEC 3.8).
const LONGEST: usize = 1024 * 1024;

/// The fence that contains the directive.
pub(super) struct Fence {
    /// The XML between the two fence lines.
    pub(super) content: Range<usize>,
    /// The trimmed text after the fence.
    pub(super) body: Range<usize>,
    /// The first `#` heading above the fence.
    pub(super) title: Option<Spanned<String>>,
}

/// Finds the first XML fence at column 0 that is not inside another fence and starts with `<directive`.
pub(super) fn find(report: &mut Report<'_>) -> Option<Fence> {
    let source = report.source;
    let mut title = None;
    let mut open: Option<Opening<'_>> = None;
    // A byte order mark is not a part of the first line, as in signature lines.
    let mut next = if source.starts_with(MARK) { MARK.len_utf8() } else { 0 };
    while let Some(line) = line_at(source, next) {
        let start = next;
        next += line.len();
        if let Some(opening) = &open {
            if opening.is_closed_by(line) {
                if opening.directive {
                    let content = opening.content..start;
                    let body = trim_range(source, next..source.len());
                    let place = content.start..content.start;
                    report.check_size("fence", content.len(), LONGEST, place, "this fence")?;
                    return Some(Fence { content, body, title });
                }
                open = None;
            }
        } else if let Some(opening) = Opening::read(source, line, next) {
            open = Some(opening);
        } else if title.is_none() {
            title = heading(line, start);
        }
    }
    match open {
        Some(opening) if opening.directive => report_unclosed(report, &opening),
        Some(_) | None => missing(report),
    }
    None
}

/// Returns the line that starts at `start`, with its line end; `None` at the end of the text.
fn line_at(source: &str, start: usize) -> Option<&str> {
    let rest = source.get(start..).filter(|rest| !rest.is_empty())?;
    let end = memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |newline| newline + 1);
    rest.get(..end)
}

/// A line that opens a fence.
struct Opening<'s> {
    marker: char,
    length: usize,
    language: &'s str,
    /// The start of the next line.
    content: usize,
    /// `true` if the line opens the fence of the directive.
    directive: bool,
}

impl<'s> Opening<'s> {
    /// Parses a fence line. `content` is the start of the next line.
    fn read(source: &'s str, line: &'s str, content: usize) -> Option<Self> {
        let (indent, marker, length, info) = fence_line(line)?;
        if marker == '`' && info.contains('`') {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or("");
        let inside = source.get(content..).unwrap_or("");
        let directive =
            indent == 0 && marker == '`' && language == "xml" && starts_directive(inside);
        Some(Self { marker, length, language, content, directive })
    }

    /// Returns `true` if the line closes the fence. The directive's own fence closes at column 0, other fences as
    /// Markdown allows.
    fn is_closed_by(&self, line: &str) -> bool {
        fence_line(line).is_some_and(|(indent, marker, length, info)| {
            marker == self.marker
                && self.length <= length
                && info.is_empty()
                && (indent == 0 || !self.directive)
        })
    }
}

/// Returns the indent, marker, length and trimmed rest of a fence line.
fn fence_line(line: &str) -> Option<(usize, char, usize, &str)> {
    let indent = line.bytes().take_while(|byte| *byte == b' ').count();
    let text = line.get(indent..)?;
    let marker = if text.starts_with('`') { '`' } else { text.starts_with('~').then_some('~')? };
    let info = text.trim_start_matches(marker);
    let length = text.len() - info.len();
    (indent < 4 && 3 <= length).then(|| (indent, marker, length, info.trim()))
}

/// Returns `true` if the text begins, after white space, with a `<directive` tag.
fn starts_directive(text: &str) -> bool {
    text.trim_start()
        .strip_prefix("<directive")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/')))
}

fn heading(line: &str, start: usize) -> Option<Spanned<String>> {
    let text = line.strip_prefix("# ")?;
    let title = text.trim();
    let at = start + line.len() - text.trim_start().len();
    (!title.is_empty()).then(|| Spanned::new(title.to_owned(), at..at + title.len()))
}

fn report_unclosed(report: &mut Report<'_>, opening: &Opening<'_>) {
    let end = trim_range(report.source, 0..opening.content).end;
    let line =
        report.source.get(..end).and_then(|text| text.rfind('\n')).map_or(0, |newline| newline + 1);
    let kind = ProblemKind::UnclosedFence { language: opening.language.to_owned() };
    let problem = Problem::new(kind, line..end, "opened here");
    let fence = "`".repeat(opening.length.min(16));
    report.error(
        problem.help(format!("write {fence} at the start of the line after `</directive>`")),
    );
}

fn missing(report: &mut Report<'_>) {
    let tag = "<directive";
    let mut found = report.source.match_indices(tag).map(|(start, _)| start);
    let start = found.find(|start| report.source.get(*start..).is_some_and(starts_directive));
    let place = start.map_or(0..0, |start| start..start + tag.len());
    let label =
        if place.is_empty() { "nothing to read" } else { "not at the start of an `xml` fence" };
    let problem = Problem::new(ProblemKind::NoDirective, place, label);
    report.error(
        problem
            .help("put `<directive name=\"…\">` into a fence that starts with ```xml at column 0"),
    );
}
