//! Permissions held against what steps and hooks need, against risk, and against what is extended (SPEC 9.6, 9.7, D6).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rye_caps::risk::{Acknowledgement, Verdict};
use rye_caps::{Grant, Pattern};
use rye_parse::{Directive, Permissions};
use rye_resolve::ItemId;
use rye_types::ItemKind;

use super::catalog::{Catalog, Chain};
use super::judged::Judged;
use super::permissions::{declared_grant, grant, granted_patterns, written_patterns};
use super::{Finding, denied, references};
use crate::aliases::{canonical, canonical_grant};
use crate::needs::{Needs, Use, uses_as_written};
use crate::plan::widenings;

/// Finds problems of a directive's permissions in its text alone.
pub(super) fn of_form(directive: &Directive) -> Vec<Finding> {
    let Some(permissions) = &directive.permissions else { return Vec::new() };
    let mut findings: Vec<Finding> = acknowledgements(&permissions.value);
    findings.extend(redundant_permissions(&granted_patterns(&permissions.value)));
    findings
}

/// Finds problems of the permissions of the leaf of `chain`, with the other items of the catalog in
/// view.
pub(super) fn findings(catalog: &Catalog<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let Judged { id, leaf, chain, needs, places: granted, .. } = judged;
    let mut findings = denied::findings(catalog, judged);
    let Some(permissions) = &leaf.permissions else { return findings };
    findings.extend(risky(catalog, &permissions.value, granted));
    if catalog.project.strict_extends {
        findings.extend(find_widenings(chain, granted));
    }
    findings.extend(unknown(catalog, granted));
    if !catalog.has_heirs(id) && !names_unknown(catalog, judged) {
        let written = written_patterns(&permissions.value);
        // A file without a body says nothing of what it does.
        if !leaf.steps.is_empty() || !needs.needs.is_empty() {
            findings.extend(find_unused(&written, needs));
        }
    }
    findings
}

const UNKNOWN_GRANT: &str = "unknown-grant";

/// Permissions for one item that is not there. They count only if the id of an item is near, which is looked up later.
pub(super) fn unknown(catalog: &Catalog<'_>, granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
    let finding = |(pattern, span): &(Pattern, Range<usize>)| {
        let (kind, dotted) = item_of(pattern)?;
        let id = dotted.replace('.', "/").parse().ok()?;
        if catalog.has_dotted(kind, dotted) {
            return None;
        }
        let message = format!("`{pattern}` covers no {kind} that is there");
        let finding = Finding::warning(UNKNOWN_GRANT, &message, span.clone())
            .with_label("grants nothing")
            .with_help("remove it");
        Some(Finding { missing: Some((kind, id)), ..finding })
    };
    granted.iter().filter_map(finding).collect()
}

/// The item that a pattern without wildcards covers. An item to sign may be made by the run.
fn item_of(pattern: &Pattern) -> Option<(ItemKind, &str)> {
    let (primary, rest) = pattern.as_str().strip_prefix("rye.")?.split_once('.')?;
    let (kind, id) = rest.split_once('.')?;
    let kind = kind.parse().ok().filter(|kind| *kind != ItemKind::Config)?;
    (primary != "sign" && !id.contains(['*', '?', '['])).then_some((kind, id))
}

/// Drops the findings about unknown permissions that no id is near to, and what the others tell better.
pub(super) fn settle_unknown(findings: &mut Vec<Finding>) {
    let is_near = |finding: &Finding| {
        finding.help.as_ref().is_some_and(|help| help.starts_with("did you mean"))
    };
    findings.retain(|finding| finding.code != UNKNOWN_GRANT || is_near(finding));
    let unknown: Vec<Range<usize>> = findings
        .iter()
        .filter(|finding| finding.code == UNKNOWN_GRANT)
        .map(|finding| finding.span.clone())
        .collect();
    findings.retain(|finding| finding.code != "unused-grant" || !unknown.contains(&finding.span));
}

/// Returns `true` if a call names an item that is not there. The permission that it uses is then not known.
fn names_unknown(catalog: &Catalog<'_>, judged: &Judged<'_>) -> bool {
    let steps = judged.calls.iter().map(|call| &call.placed);
    let hooks = judged.leaf.hooks.iter().flat_map(|hook| &hook.value.actions);
    steps.chain(hooks).any(|action| references::action(catalog, action, "").is_some())
}

fn acknowledgements(permissions: &Permissions) -> Vec<Finding> {
    let rows = permissions.acknowledged.iter();
    rows.filter_map(|row| {
        let error = Acknowledgement::new(&row.value.risk, &row.value.reason).err()?;
        Some(Finding::error("unknown-risk", &error.to_string(), row.span.clone()))
    })
    .collect()
}

fn redundant_permissions(granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
    let redundant = grant(granted).redundant();
    let outers: BTreeMap<&str, &Pattern> =
        redundant.iter().map(|(inner, outer)| (inner.as_str(), outer)).collect();
    let mut findings = Vec::new();
    let mut before = BTreeSet::new();
    for (pattern, span) in granted {
        let is_again = !before.insert(pattern.as_str());
        let outer = outers.get(pattern.as_str());
        let message = match outer {
            _ if is_again => format!("`{pattern}` is granted twice"),
            Some(outer) => format!("`{pattern}` is included in `{outer}`, which is granted too"),
            None => continue,
        };
        let finding = Finding::warning("included-grant", &message, span.clone());
        findings.push(finding.with_label("grants nothing more").with_help("keep one of the two"));
    }
    findings
}

/// Grants that are too dangerous for what is acknowledged.
fn risky(
    catalog: &Catalog<'_>,
    permissions: &Permissions,
    granted: &[(Pattern, Range<usize>)],
) -> Vec<Finding> {
    let table = match &catalog.risk {
        Ok(table) => table,
        Err(reason) => {
            let message = format!("the risk of the permissions cannot be judged: {reason}");
            let place = permissions.entries.first().map_or(0..0, |entry| entry.span.clone());
            return vec![Finding::warning("risk-unknown", &message, place)];
        }
    };
    let rows = permissions.acknowledged.iter();
    let acknowledged: Vec<Acknowledgement> = rows
        .filter_map(|row| Acknowledgement::new(&row.value.risk, &row.value.reason).ok())
        .collect();
    let mut patterns: Vec<&Pattern> = granted.iter().map(|(pattern, _)| pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let judged = patterns.into_iter().filter_map(|pattern| {
        let row = catalog.risk_of(table, pattern)?;
        if acknowledged.iter().any(|it| it.risk() == row.risk) {
            return None;
        }
        let (_, place) = granted.iter().find(|(pattern, _)| *pattern == row.pattern)?;
        let message = row.to_string();
        let finding = match row.verdict {
            Verdict::Allow => return None,
            Verdict::Warn => Finding::warning("unacknowledged-risk", &message, place.clone()),
            Verdict::Block => Finding::error("blocked-risk", &message, place.clone()),
        };
        Some(finding.with_label("granted here"))
    });
    judged.collect()
}

/// Permissions that the nearest ancestor with permissions does not have.
fn find_widenings(chain: &Chain<'_>, granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
    let declared = chain.declaring().map(|(id, link)| (id.clone(), declared_grant(link)));
    // Each directive of the chain has its own findings.
    let pair: Vec<(ItemId, Grant)> = declared.take(2).collect();
    let finding = |widening: crate::plan::Widening| {
        let (_, place) = granted.iter().find(|(pattern, _)| *pattern == widening.pattern)?;
        let finding = Finding::error("widened-extends", &widening.to_string(), place.clone());
        let help = format!("grant less here, or grant it in `{}` too", widening.ancestor);
        Some(finding.with_label("wider than what it extends").with_help(&help))
    };
    widenings(&pair).into_iter().filter_map(finding).collect()
}

/// Finds permissions that nothing needs. What a model may need is not known here.
fn find_unused(written: &[(Pattern, Range<usize>)], needs: &Needs) -> Vec<Finding> {
    let questions = written.len() * needs.needs.len();
    if questions > MOST_QUESTIONS {
        return Vec::new();
    }
    let grant = grant(written);
    let redundant = canonical_grant(&grant).redundant();
    let is_redundant = |pattern: &Pattern| redundant.iter().any(|(inner, _)| inner == pattern);
    let uses = uses_as_written(&grant, needs);
    let unused =
        uses.iter().filter(|(pattern, kept)| *kept == Use::Unused && !is_redundant(pattern));
    unused
        .filter_map(|(pattern, _)| {
            let means = |other: &Pattern| canonical(other.clone()).first() == Some(pattern);
            Some((pattern, &written.iter().find(|(other, _)| means(other))?.1))
        })
        .map(|(pattern, span)| {
            let is_met = needs.needs.iter().any(|need| pattern.meets(&need.pattern));
            let message = match is_met {
                true => format!("no step or hook needs more of `{pattern}` than narrower permissions grant"),
                false => format!("no step or hook uses `{pattern}`"),
            };
            let help = "remove it, name the call in the step that makes it, or, if a model may use it, say so in a step without a call";
            let finding = Finding::warning("unused-grant", &message, span.clone());
            finding.with_label("nothing names a call for this").with_help(help)
        })
        .collect()
}

/// The most pairs of a permission and a need that are compared, so that no file keeps a check busy.
const MOST_QUESTIONS: usize = 1_024;
