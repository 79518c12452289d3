//! The least-privilege lint, and acknowledgements that acknowledge nothing (SPEC 9.6, 9.7).

use std::ops::Range;

use rye_caps::risk::Acknowledgement;
use rye_caps::{Grant, Pattern};
use rye_parse::{Directive, Permissions};
use rye_resolve::permission_grant;

use super::{Finding, Severity};
use crate::privileges::{Needs, Use, of_steps, uses};

/// What is said of a permission is worth knowing; it keeps nobody from signing.
pub(super) fn findings(directive: &Directive) -> Vec<Finding> {
    let Some(permissions) = &directive.permissions else { return Vec::new() };
    let mut findings: Vec<Finding> = acknowledgements(&permissions.value);
    let granted = granted(&permissions.value);
    findings.extend(included(&granted));
    findings.extend(unused(&granted, &of_steps(directive)));
    findings
}

fn acknowledgements(permissions: &Permissions) -> Vec<Finding> {
    let rows = permissions.acknowledged.iter();
    rows.filter_map(|row| {
        let error = Acknowledgement::new(&row.value.risk, &row.value.reason).err()?;
        Some(Finding::error("unknown-risk", &error.to_string(), row.span.clone()))
    })
    .collect()
}

/// Each permission that is a pattern, with its place.
fn granted(permissions: &Permissions) -> Vec<(Pattern, Range<usize>)> {
    let entries = permissions.entries.iter();
    entries
        .filter_map(|entry| Some((permission_grant(&entry.value).ok()?, entry.span.clone())))
        .flat_map(|(grant, span)| {
            grant
                .patterns()
                .iter()
                .cloned()
                .map(|pattern| (pattern, span.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn included(granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
    let grant: Grant = granted.iter().map(|(pattern, _)| pattern.clone()).collect();
    let redundant = grant.redundant();
    let mut findings = Vec::new();
    for (place, (pattern, span)) in granted.iter().enumerate() {
        let is_again = granted.iter().take(place).any(|(before, _)| before == pattern);
        let outer = redundant.iter().find(|(inner, _)| inner == pattern).map(|(_, outer)| outer);
        let message = match outer {
            _ if is_again => format!("`{pattern}` is granted twice"),
            Some(outer) => format!("`{pattern}` is included in `{outer}`, which is granted too"),
            None => continue,
        };
        findings.push(warning(
            "included-grant",
            &message,
            "grants nothing more",
            "keep one of the two",
            span,
        ));
    }
    findings
}

/// Nothing is said unless the steps say of all that they do what it needs: what only a model decides is not known here.
fn unused(granted: &[(Pattern, Range<usize>)], needs: &Needs) -> Vec<Finding> {
    let questions = granted.len() * needs.needs.len();
    if questions == 0 || questions > MOST_QUESTIONS || !needs.unjudged.is_empty() {
        return Vec::new();
    }
    let grant: Grant = granted.iter().map(|(pattern, _)| pattern.clone()).collect();
    let redundant = grant.redundant();
    let is_redundant = |pattern: &Pattern| redundant.iter().any(|(inner, _)| inner == pattern);
    let uses = uses(&grant, &needs.needs);
    let unused =
        uses.iter().filter(|(pattern, kept)| *kept == Use::Unused && !is_redundant(pattern));
    unused
        .filter_map(|(pattern, _)| granted.iter().find(|(other, _)| other == pattern))
        .map(|(pattern, span)| {
            let is_met = needs.needs.iter().any(|need| pattern.meets(&need.pattern));
            let message = match is_met {
                true => format!("no step needs more of `{pattern}` than narrower permissions grant"),
                false => format!("no step uses `{pattern}`"),
            };
            let help = "remove it, or name the call in the step that makes it; `rye caps tighten` judges by threads too";
            warning("unused-grant", &message, "no step names a call for this", help, span)
        })
        .collect()
}

/// How many pairs of a permission and a need are looked at: people write few, and others may want to keep a check busy.
const MOST_QUESTIONS: usize = 1_024;

fn warning(
    code: &'static str,
    message: &str,
    label: &str,
    help: &str,
    span: &Range<usize>,
) -> Finding {
    Finding {
        severity: Severity::Warning,
        label: label.to_owned(),
        help: Some(help.to_owned()),
        bars_signing: false,
        ..Finding::error(code, message, span.clone())
    }
}
