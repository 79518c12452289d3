//! Notes about steps at places where a reader may take them for text.

use super::call;
use super::token::{Kind, Token};
use crate::{Problem, ProblemKind, problem::Report};

/// Notes the first step behind markup that is not closed, the first outside of `<process>`, and the first call in indented code.
/// All of them are steps (SPEC 3.9: a malformed body yields the steps that can be read).
pub(super) fn report_stray_steps(
    report: &mut Report<'_>,
    tokens: &[Token<'_>],
    is_in_process: bool,
) {
    let unclosed = tokens.iter().find(|token| matches!(token.kind, Kind::UnclosedMarkup(_)));
    if let Some(Token { kind: Kind::UnclosedMarkup(start), span }) = unclosed
        && tokens.iter().any(|token| span.end <= token.span.start && begins_step(token))
    {
        let place = format!("behind `{start}`, which is not closed");
        note(report, place, span, "its end is missing", "close it, or remove it");
    }
    let mut process = is_in_process;
    let mut is_marked = false;
    let mut outside = None;
    for token in tokens {
        match token.kind {
            Kind::Open("process") => process = true,
            Kind::Close("process") => process = is_in_process,
            Kind::Open("step") | Kind::Empty("step") => {
                is_marked = true;
                outside = outside.or((!process).then_some(&token.span));
            }
            _ => {}
        }
    }
    if let Some(span) = outside {
        let place = "outside of `<process>`".to_owned();
        note(report, place, span, "a step", "put it between `<process>` and `</process>`");
    }
    let mut lines = Lines { source: report.source, seen: 0, is_code: false };
    let indented = tokens.iter().filter(|_| !is_marked).find(|token| {
        // Each line is looked at once, however many calls it has.
        lines.advance_to(token.span.start);
        matches!(token.kind, Kind::Code(code) if call::start(code).is_some()) && lines.is_code
    });
    if let Some(token) = indented {
        let place = "in indented code".to_owned();
        let help = "indent it less if it is a step, or put it into a fence if it is an example";
        note(report, place, &token.span, "a call", help);
    }
}

fn note(
    report: &mut Report<'_>,
    place: String,
    span: &std::ops::Range<usize>,
    label: &'static str,
    help: &str,
) {
    report.note(Problem::new(ProblemKind::StrayStep { place }, span.clone(), label).help(help));
}

fn begins_step(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Open("step") | Kind::Empty("step") => true,
        Kind::Code(code) => call::start(code).is_some(),
        _ => false,
    }
}

/// A walk over the lines of a text.
struct Lines<'s> {
    source: &'s str,
    seen: usize,
    /// `true` if the line that was come to is a code block.
    is_code: bool,
}

impl Lines<'_> {
    /// Comes to a place, which is no earlier one than the last.
    fn advance_to(&mut self, place: usize) {
        let passed = self.source.get(self.seen..place).unwrap_or_default();
        if self.seen == 0 || passed.contains('\n') {
            self.is_code = is_indented_code(self.source, place);
        }
        self.seen = place;
    }
}

/// Returns `true` if the line of a place is a code block in Markdown: indented by four columns, behind a blank line, and not part of
/// a list.
fn is_indented_code(source: &str, at: usize) -> bool {
    let Some(before) = source.get(..at) else { return false };
    let (above, indent) = before.rsplit_once('\n').unwrap_or(("", before));
    let is_code = indent.starts_with("    ") || indent.starts_with('\t');
    let (blank, text) = match above.rsplit_once('\n') {
        Some((above, line)) => (line.trim().is_empty(), above.trim_end()),
        None => (above.trim().is_empty(), ""),
    };
    let last = text.rsplit('\n').next().unwrap_or("");
    let marker = last.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_list = last.starts_with([' ', '\t'])
        || last.starts_with(['-', '*', '+'])
        || (marker.len() < last.len() && marker.starts_with(['.', ')']));
    is_code && blank && !is_list
}
