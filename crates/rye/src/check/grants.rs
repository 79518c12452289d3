//! Permissions held against what steps and hooks need, against risk, and against what is extended (SPEC 9.6, 9.7, D6).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rye_caps::risk::{Acknowledgement, Verdict};
use rye_caps::{Grant, Invocation, Pattern};
use rye_parse::{Action, Directive, Outputs, Permissions, Spanned};
use rye_resolve::ItemId;

use super::catalog::{Catalog, Chain};
use super::{Finding, references};
use crate::privileges::{Needs, Use, action_needs, element, hook_needs, needs_of, uses};
use crate::session::{entry_grant, return_capability, widenings};

/// What the text alone tells of a directive's permissions.
pub(super) fn of_form(directive: &Directive) -> Vec<Finding> {
    let Some(permissions) = &directive.permissions else { return Vec::new() };
    let mut findings: Vec<Finding> = acknowledgements(&permissions.value);
    findings.extend(included(&granted(&permissions.value)));
    findings
}

/// What is known of the permissions of the leaf of `chain` with everything around it.
pub(super) fn findings(catalog: &Catalog<'_>, chain: &Chain<'_>) -> Vec<Finding> {
    let Some((id, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let mut findings = denied(catalog, chain, leaf);
    let Some(permissions) = &leaf.permissions else { return findings };
    let granted = granted(&permissions.value);
    findings.extend(risky(catalog, &permissions.value, &granted));
    if catalog.rye.strict_extends {
        findings.extend(widened(chain, &granted));
    }
    if !catalog.has_heirs(id) {
        findings.extend(unused(&granted, &needs(catalog, chain, leaf)));
    }
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
        .filter_map(|entry| Some((entry_grant(&entry.value)?, entry.span.clone())))
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

fn grant(granted: &[(Pattern, Range<usize>)]) -> Grant {
    granted.iter().map(|(pattern, _)| pattern.clone()).collect()
}

fn included(granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
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
        findings.push(finding.labelled("grants nothing more").helped("keep one of the two"));
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
    let grant = grant(granted);
    let invocations = catalog.invocations().iter();
    let granted_calls: Vec<Invocation> =
        invocations.filter(|invocation| grant.allows(invocation.item())).cloned().collect();
    let findings = table.assess(&grant, &granted_calls, &acknowledged);
    let judged = findings.iter().filter_map(|row| {
        let (_, place) = granted.iter().find(|(pattern, _)| *pattern == row.pattern)?;
        let message = row.to_string();
        let finding = match row.verdict {
            Verdict::Allow => return None,
            Verdict::Warn => Finding::warning("unacknowledged-risk", &message, place.clone()),
            Verdict::Block => Finding::error("blocked-risk", &message, place.clone()),
        };
        Some(finding.labelled("granted here"))
    });
    judged.collect()
}

/// Permissions that the nearest ancestor with permissions does not have.
fn widened(chain: &Chain<'_>, granted: &[(Pattern, Range<usize>)]) -> Vec<Finding> {
    let declared = chain.declaring().map(|(id, link)| (id.clone(), declared(link)));
    // Each directive of the chain has its own findings.
    let pair: Vec<(ItemId, Grant)> = declared.take(2).collect();
    let finding = |widening: crate::session::Widening| {
        let (_, place) = granted.iter().find(|(pattern, _)| *pattern == widening.pattern)?;
        let finding = Finding::error("widened-extends", &widening.to_string(), place.clone());
        let help = format!("grant less here, or grant it in `{}` too", widening.ancestor);
        Some(finding.labelled("wider than what it extends").helped(&help))
    };
    widenings(&pair).into_iter().filter_map(finding).collect()
}

fn declared(link: &Directive) -> Grant {
    link.permissions.as_ref().map_or_else(Grant::nothing, |block| grant(&granted(&block.value)))
}

/// What the leaf's own steps, its hooks and those of hooks files need.
fn needs(catalog: &Catalog<'_>, chain: &Chain<'_>, leaf: &Directive) -> Needs {
    let hooks = catalog.hooks.as_ref().map_or(&[][..], Vec::as_slice);
    let inherited = chain.links.iter().flat_map(|(_, link)| &link.hooks).map(|hook| &hook.value);
    needs_of(leaf, hooks.iter().map(|hook| &hook.hook).chain(inherited))
}

/// Calls of steps and hooks that the permissions do not cover at all.
fn denied(catalog: &Catalog<'_>, chain: &Chain<'_>, leaf: &Directive) -> Vec<Finding> {
    let Some((declaring, link)) = chain.declaring().next() else { return Vec::new() };
    // A hook may say that it extends another directive.
    if leaf.permissions.is_none() && catalog.extends_by_hooks() {
        return Vec::new();
    }
    let granted = declared(link);
    let returns = !matches!(leaf.outputs, Outputs::None);
    let lack = |by: &str, action: &Spanned<Action>, needed: Vec<Pattern>| {
        let is_returned =
            |need: &Pattern| returns && *need == Pattern::exactly(&return_capability());
        let is_denied =
            |need: &Pattern| granted.patterns().iter().all(|pattern| !pattern.meets(need));
        let lacks: Vec<Pattern> =
            needed.into_iter().filter(|need| is_denied(need) && !is_returned(need)).collect();
        // To grant what is not there helps nobody.
        (!lacks.is_empty() && references::action(catalog, action, by).is_none())
            .then(|| lacking(by, &lacks, action.span.clone(), (declaring, chain)))
    };
    let mut findings = Vec::new();
    for (place, step) in leaf.steps.iter().map(|step| &step.value).enumerate() {
        let by = format!("step `{}`", step.name.clone().unwrap_or_else(|| (place + 1).to_string()));
        let actions = step.actions.iter();
        let lacks =
            actions.filter_map(|action| lack(&by, action, action_needs(&action.value).ok()?));
        findings.extend(lacks);
    }
    for hook in leaf.hooks.iter().map(|hook| &hook.value) {
        let by = format!("hook `{}`", hook.id.value);
        let actions = hook.actions.iter();
        findings.extend(
            actions.filter_map(|action| lack(&by, action, hook_needs(hook, &action.value).ok()?)),
        );
    }
    findings
}

fn lacking(
    by: &str,
    lacks: &[Pattern],
    place: Range<usize>,
    (declaring, chain): (&ItemId, &Chain<'_>),
) -> Finding {
    let patterns: Vec<&str> = lacks.iter().map(Pattern::as_str).collect();
    let elements: Vec<String> = lacks.iter().map(element).collect();
    let is_own = chain.links.first().is_some_and(|(leaf, _)| *leaf == declaring);
    let whose = match is_own {
        true => "`<permissions>`".to_owned(),
        false => format!("`<permissions>` of `{declaring}`, which it extends,"),
    };
    let message = format!("{by} needs `{}`, which {whose} does not grant", patterns.join("`, `"));
    let help = match is_own {
        true => format!("add `{}` to `<permissions>`", elements.join("")),
        false => format!(
            "declare `<permissions>` with `{}` here, or add it to `{declaring}`",
            elements.join("")
        ),
    };
    Finding::error("missing-permission", &message, place).labelled("would be denied").helped(&help)
}

/// Nothing is said unless the steps say of all that they do what it needs: what only a model decides is not known here.
fn unused(granted: &[(Pattern, Range<usize>)], needs: &Needs) -> Vec<Finding> {
    let questions = granted.len() * needs.needs.len();
    if questions == 0 || questions > MOST_QUESTIONS || !needs.unjudged.is_empty() {
        return Vec::new();
    }
    let grant = grant(granted);
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
                true => format!("no step or hook needs more of `{pattern}` than narrower permissions grant"),
                false => format!("no step or hook uses `{pattern}`"),
            };
            let help = "remove it, or name the call in the step that makes it; `rye caps tighten` judges by threads too";
            let finding = Finding::warning("unused-grant", &message, span.clone());
            finding.labelled("nothing names a call for this").helped(help)
        })
        .collect()
}

/// How many pairs of a permission and a need are looked at: people write few, and others may want to keep a check busy.
const MOST_QUESTIONS: usize = 1_024;
