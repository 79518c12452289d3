//! Calls that start threads, held against the limits of the directive (SPEC 10.5).

use std::ops::Range;

use rye_parse::Directive;
use rye_providers::{MAX_PLANNED_DEPTH, MAX_PLANNED_STEPS};
use rye_thread::Limits;

use super::Finding;
use super::catalog::{Catalog, Chain};
use super::grants::needs;
use crate::needs::{
    Callee, GivenInputs, NeedSource, Needs, RefusedStart, StepCall, Walk, callee, is_return,
    step_calls,
};
use crate::plan::{SetLimits, names_steps};

/// Finds calls of steps that start a thread and that the limits refuse, and steps that take more than a run without a model has. The
/// operator's options for one run may raise limits.
pub(super) fn findings(catalog: &Catalog<'_>, chain: &Chain<'_>) -> Vec<Finding> {
    let Some((id, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let needs = needs(catalog, chain, leaf);
    let limits = SetLimits::of_root(catalog.limits.clone(), &chain.limits(), id).limits;
    let mut findings = of_starts(catalog, chain, &needs, &limits);
    if names_steps(chain.model().as_ref()) {
        findings.extend(of_walk(leaf, needs.walk, &limits));
    }
    findings
}

fn of_starts(
    catalog: &Catalog<'_>,
    chain: &Chain<'_>,
    needs: &Needs,
    limits: &Limits,
) -> Vec<Finding> {
    let Some((id, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let stated = chain.limits();
    let finding = |refused: RefusedStart| {
        let RefusedStart { limit, source, set_for, .. } = &refused;
        let place = place(catalog, leaf, source);
        let help = match stated.by.get(limit) {
            _ if set_for.is_some() => {
                format!("set a higher `{limit}` in that call, or leave out what it starts")
            }
            Some(by) if *by == id => {
                format!("raise `{limit}` in `<limits>`, or leave the call out")
            }
            Some(by) => format!(
                "state a higher `{limit}` in `<limits>` than `{by}` does, or leave the call out"
            ),
            None => format!("state a higher `{limit}` in `<limits>`, or leave the call out"),
        };
        Finding::error("refused-start", &refused.to_string(), place)
            .with_label("would be refused")
            .with_help(&help)
    };
    needs.refused_starts(limits, catalog).into_iter().map(finding).collect()
}

/// Finds that a run without a model has not enough turns for all steps, or does not follow what they execute (SPEC 10.13).
fn of_walk(leaf: &Directive, walk: Walk, limits: &Limits) -> Vec<Finding> {
    let place = leaf.name.span.clone();
    let Walk { turns, steps, depth } = walk;
    let returns = step_calls(leaf, &GivenInputs::new());
    let has_last_answer = !returns.iter().any(|call| is_return(&call.placed.value));
    let turns = turns.saturating_add(u64::from(has_last_answer));
    let mut findings = Vec::new();
    if turns > limits.turns {
        let message = format!(
            "without a model, its steps take {turns} turns, and the limit `turns` is {}",
            limits.turns
        );
        let finding = Finding::warning("too-few-turns", &message, place.clone());
        let help = format!("write `turns=\"{turns}\"` in `<limits>`, or leave steps out");
        findings.push(finding.with_label("is stopped before its end").with_help(&help));
    }
    let most = [
        (
            "too-deep",
            depth,
            MAX_PLANNED_DEPTH,
            "directives that execute directives are followed",
            "deep",
        ),
        (
            "too-many-steps",
            steps,
            MAX_PLANNED_STEPS,
            "executed directives are followed for",
            "steps",
        ),
    ];
    for (code, value, most, what, unit) in most {
        if value > most {
            let message = format!("without a model, {what} {most} {unit}, and these go on");
            let finding = Finding::error(code, &message, place.clone());
            findings.push(
                finding
                    .with_label("cannot be followed to its end")
                    .with_help("have one of them not execute the next"),
            );
        }
    }
    findings
}

/// The call of a step that starts the thread, or that executes the directive which does.
fn place(catalog: &Catalog<'_>, leaf: &Directive, source: &NeedSource) -> Range<usize> {
    let is_meant = |StepCall { step, placed, .. }: &StepCall<'_>| {
        let callee = callee(&placed.value, catalog);
        match source {
            NeedSource::Step(name) => {
                step == name && matches!(callee, Some(Callee::Child(_) | Callee::OpenChild(_)))
            }
            _ => matches!(callee, Some(Callee::Executed(..))),
        }
    };
    let mut calls = step_calls(leaf, &GivenInputs::new()).into_iter();
    calls.find(is_meant).map_or(leaf.name.span.clone(), |call| call.placed.span)
}
