//! The lines of a file with what is wrong in them.

use std::ops::Range;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    Severity,
};
use rye::Finding;
use rye::parse::Problem;
use rye::resolve::ResolveError;

/// A file and every place in it that is worth showing.
#[derive(Debug)]
pub(crate) struct Excerpt {
    name: String,
    source: String,
    diagnostics: Vec<MietteDiagnostic>,
}

impl Excerpt {
    pub(crate) fn of_findings<'a>(
        name: &str,
        source: &str,
        findings: impl Iterator<Item = &'a Finding>,
    ) -> Self {
        let diagnostics = findings.map(of_finding).collect();
        Self { name: name.to_owned(), source: source.to_owned(), diagnostics }
    }
}

/// The excerpts of every file that did not parse.
pub(crate) fn of_resolve(error: &ResolveError) -> Vec<Excerpt> {
    match error {
        ResolveError::Unparseable { location, text, source, .. } => vec![Excerpt {
            name: location.to_string(),
            source: text.clone(),
            diagnostics: source.problems().iter().map(of_problem).collect(),
        }],
        ResolveError::Extends { source, .. } => of_resolve(source),
        ResolveError::Several { problems, .. } => problems.iter().flat_map(of_resolve).collect(),
        _ => Vec::new(),
    }
}

/// The text for a terminal, or without colors for anything else.
pub(crate) fn rendered(excerpt: &Excerpt, colors: bool) -> String {
    let theme = if colors { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
    let mut text = String::new();
    for diagnostic in &excerpt.diagnostics {
        let source = NamedSource::new(&excerpt.name, excerpt.source.clone());
        let report = Report::new(diagnostic.clone()).with_source_code(source);
        let written = handler.render_report(&mut text, report.as_ref());
        written.expect("because writing to a string does not fail");
    }
    text
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
    let label = LabeledSpan::at(span.clone(), label);
    let diagnostic = MietteDiagnostic::new(message).with_code(code).with_label(label);
    match help {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    }
}
