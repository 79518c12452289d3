//! Excerpts of files with their problems.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource,
    Severity, SourceCode,
};
use rye::parse::{Position, Problem, position};
use rye::resolve::ResolveError;
use rye::{Checked, Finding, hidden_characters};

use crate::output;

/// The largest number of bytes that are shown for a problem, so that one long line is not repeated for each.
const MOST: usize = 4096;

/// A file with the problems to show.
#[derive(Debug)]
pub(crate) struct Excerpt {
    name: String,
    source: String,
    diagnostics: Vec<MietteDiagnostic>,
}

impl Excerpt {
    /// Creates the excerpt of a checked file. If the file may hold a secret, only the positions are shown,
    /// without lines.
    pub(crate) fn of_checked(checked: &Checked) -> Self {
        Self::of_those(checked, |finding| !finding.is_unvouched())
    }

    /// Creates the excerpt of the problems that prevent signing.
    pub(crate) fn of_unsignable(checked: &Checked) -> Self {
        Self::of_those(checked, |finding| finding.bars_signing)
    }

    fn of_those(checked: &Checked, is_shown: impl Fn(&Finding) -> bool) -> Self {
        let name = checked.path.display().to_string();
        let source = checked.source.clone();
        let findings = checked.findings.iter().filter(|finding| is_shown(finding));
        let diagnostics = match checked.may_hold_secrets() {
            true => findings.map(|finding| without_lines(finding, &name, &source)).collect(),
            false => findings.map(of_finding).collect(),
        };
        Self { name, source, diagnostics }
    }
}

/// Returns the excerpts of all files that could not be parsed.
pub(crate) fn of_resolve(error: &ResolveError) -> Vec<Excerpt> {
    match error {
        ResolveError::Unparseable { location, text, source, .. } => vec![Excerpt {
            name: location.to_string(),
            source: text.clone(),
            diagnostics: source.problems().iter().map(of_problem).collect(),
        }],
        ResolveError::Extends { source, .. } | ResolveError::HookExtends { source, .. } => {
            of_resolve(source)
        }
        ResolveError::Several { problems, .. } => problems.iter().flat_map(of_resolve).collect(),
        _ => Vec::new(),
    }
}

/// Returns the unsigned and changed files that keep an item from being used.
pub(crate) fn unsigned(error: &ResolveError) -> Vec<PathBuf> {
    match error {
        ResolveError::Unverified { location, source }
            if matches!(
                **source,
                rye::sign::Error::Unsigned | rye::sign::Error::Tampered { .. }
            ) =>
        {
            vec![location.path.clone()]
        }
        ResolveError::Extends { source, .. } | ResolveError::HookExtends { source, .. } => {
            unsigned(source)
        }
        ResolveError::Several { problems, .. } => problems.iter().flat_map(unsigned).collect(),
        _ => Vec::new(),
    }
}

/// Returns the excerpt as text, with or without colors.
pub(crate) fn rendered(excerpt: &Excerpt, colors: bool) -> String {
    let theme = if colors { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
    let name = output::line(&excerpt.name);
    let source = NamedSource::new(&name, mask_hidden(&excerpt.source));
    let mut text = String::new();
    for diagnostic in &excerpt.diagnostics {
        let diagnostic = fit(diagnostic, &name, &excerpt.source);
        let written = handler.render_report(&mut text, &InSource { diagnostic, source: &source });
        written.expect("because writing to a string does not fail");
    }
    text
}

/// A diagnostic with the file that it is of. A `miette::Report` would ask the terminal for its properties each time.
#[derive(Debug)]
struct InSource<'a> {
    diagnostic: MietteDiagnostic,
    source: &'a NamedSource<String>,
}

impl fmt::Display for InSource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(formatter)
    }
}

impl Error for InSource<'_> {}

impl Diagnostic for InSource<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.diagnostic.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.diagnostic.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }
}

/// Returns the diagnostic with the part of its span that can be shown: all of it, the first line, or only
/// line and column.
fn fit(diagnostic: &MietteDiagnostic, name: &str, source: &str) -> MietteDiagnostic {
    let mut fitted = diagnostic.clone();
    let Some(label) = diagnostic.labels.iter().flatten().next() else { return fitted };
    let all = label.offset()..label.offset() + label.len();
    let first_line = all.start..line_end(source, all.start).min(all.end);
    let shown =
        [all.clone(), first_line].into_iter().find(|span| excerpt_len(source, span) <= MOST);
    fitted.labels = shown.map(|span| {
        vec![LabeledSpan::new(label.label().map(str::to_owned), span.start, span.len())]
    });
    if fitted.labels.is_none() {
        fitted.message = with_position(&fitted.message, name, source, all.start);
    }
    fitted
}

fn without_lines(finding: &Finding, name: &str, source: &str) -> MietteDiagnostic {
    let mut diagnostic = of_finding(finding);
    diagnostic.labels = None;
    diagnostic.message =
        with_position(&diagnostic.message, &output::line(name), source, finding.span.start);
    diagnostic
}

fn with_position(message: &str, name: &str, source: &str, at: usize) -> String {
    let Position { line, column, .. } = position(source, at);
    format!("{message} ({name}:{line}:{column})")
}

/// Returns the size of the text shown for a span: its lines with one before and one after.
fn excerpt_len(source: &str, span: &Range<usize>) -> usize {
    let before = source.get(..span.start).unwrap_or_default();
    let start = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at);
    let last = line_end(source, span.end);
    line_end(source, (last + 1).min(source.len())).saturating_sub(start)
}

fn line_end(source: &str, from: usize) -> usize {
    source.get(from..).and_then(|rest| rest.find('\n')).map_or(source.len(), |end| from + end)
}

/// Returns the text with a mark of equal length for each hidden character, so that positions stay.
fn mask_hidden(source: &str) -> String {
    let mut tame = source.to_owned();
    for (at, c) in hidden_characters(source) {
        let mark = match c.len_utf8() {
            1 => "?",
            2 => "\u{b7}",
            3 => "\u{fffd}",
            _ => "\u{1f6ab}",
        };
        tame.replace_range(at..at + mark.len(), mark);
    }
    // A terminal goes back to the start of the line at a carriage return, and what follows covers the line.
    let is_end = |at: usize| source[at..].starts_with("\r\n");
    for (at, _) in source.match_indices('\r').filter(|(at, _)| !is_end(*at)) {
        tame.replace_range(at..=at, "?");
    }
    tame
}

fn of_problem(problem: &Problem) -> MietteDiagnostic {
    diagnostic(
        &problem.kind.to_string(),
        problem.kind.code(),
        &problem.label,
        problem.help.as_deref(),
        &problem.span,
    )
}

fn of_finding(finding: &Finding) -> MietteDiagnostic {
    let severity = match finding.severity {
        rye::Severity::Error => Severity::Error,
        rye::Severity::Warning => Severity::Warning,
        _ => Severity::Advice,
    };
    let found = diagnostic(
        &finding.message,
        finding.code,
        &finding.label,
        finding.help.as_deref(),
        &finding.span,
    );
    found.with_severity(severity)
}

fn diagnostic(
    message: &str,
    code: &str,
    label: &str,
    help: Option<&str>,
    span: &Range<usize>,
) -> MietteDiagnostic {
    let label = LabeledSpan::at(span.clone(), output::visible(label));
    let diagnostic =
        MietteDiagnostic::new(output::visible(message)).with_code(code).with_label(label);
    match help {
        Some(help) => diagnostic.with_help(output::visible(help)),
        None => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_a_terminal_no_commands() {
        let source = "a\u{1b}[31m \u{9b}2J é\t\u{202e}x\u{e0041}\r\n";
        let tame = mask_hidden(source);
        assert_eq!(tame, "a?[31m \u{b7}2J é\t\u{fffd}x\u{1f6ab}\r\n");
        assert_eq!(tame.len(), source.len());
        assert_eq!(mask_hidden("a\rb\r\r\nc\r"), "a?b?\r\nc?");
    }

    #[track_caller]
    fn fits(source: &str, span: Range<usize>, expected: Option<&Range<usize>>, message: &str) {
        let fitted = fit(&diagnostic("m", "c", "l", None, &span), "f", source);
        let label = fitted.labels.iter().flatten().next();
        assert_eq!(
            label.map(|label| label.offset()..label.offset() + label.len()).as_ref(),
            expected
        );
        assert_eq!(fitted.message, message);
    }

    #[test]
    fn no_more_of_a_file_is_shown_than_a_person_reads() {
        fits("ab\ncd\nef", 3..5, Some(&(3..5)), "m");
        fits("ab\ncd", 5..5, Some(&(5..5)), "m");
        fits(&"ab\n".repeat(5000), 3..9000, Some(&(3..5)), "m");
        fits(&format!("a\n{}", "é".repeat(5000)), 4..6, None, "m (f:2:2)");
    }

    #[test]
    fn a_message_spells_them_out() {
        let message = diagnostic("key `\u{1b}[31m\u{200b}`", "c", "l", None, &(0..0)).message;
        assert_eq!(message, "key `\\u{1b}[31m\\u{200b}`");
    }
}
