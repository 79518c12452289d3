//! Calls that start threads, held against the limits of the directive (SPEC 10.5).

use std::ops::Range;

use rye_providers::{MAX_PLANNED_DEPTH, MAX_PLANNED_STEPS};
use rye_types::LimitSet;

use super::Finding;
use super::catalog::Catalog;
use super::judged::Judged;
use crate::needs::{Callee, NeedSource, RefusedStart, StartReason, StepCall, Walk, callee};
use crate::plan::{SetLimits, names_steps};

/// Finds calls of steps that start a thread and that the limits refuse, and steps that take more than a run without a model has. The
/// operator's options for one run may raise limits.
pub(super) fn findings(catalog: &Catalog<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let chain = &judged.chain;
    let limits = SetLimits::of_root(catalog.limits.clone(), &chain.limits(), judged.id).limits;
    let is_without_model = names_steps(chain.model().as_ref());
    let mut findings = of_starts(catalog, judged, &limits, is_without_model);
    if is_without_model {
        findings.extend(of_walk(judged, &limits));
    }
    findings
}

fn of_starts(
    catalog: &Catalog<'_>,
    judged: &Judged<'_>,
    limits: &LimitSet,
    is_without_model: bool,
) -> Vec<Finding> {
    let stated = judged.chain.limits();
    let finding = |refused: RefusedStart| {
        let RefusedStart { limit, source, set_for, reason, .. } = &refused;
        let place = place(catalog, judged, source);
        let help = match stated.by.get(limit) {
            _ if *reason == StartReason::Endless => {
                "leave one of the calls out, or have a model decide on it".to_owned()
            }
            _ if set_for.is_some() => {
                format!("set a higher `{limit}` in that call, or leave out what it starts")
            }
            Some(by) if *by == judged.id => {
                format!("raise `{limit}` in `<limits>`, or leave the call out")
            }
            Some(by) => format!(
                "state a higher `{limit}` in `<limits>` than `{by}` does, or leave the call out"
            ),
            None => format!("state a higher `{limit}` in `<limits>`, or leave the call out"),
        };
        let message = refused.to_string();
        let finding = match reason {
            // The thread stops, and may go on with more of them.
            StartReason::Turns(_) => Finding::warning("too-few-turns", &message, place)
                .with_label("is stopped before its end"),
            _ => Finding::error("refused-start", &message, place).with_label("would be refused"),
        };
        finding.with_help(&help)
    };
    judged
        .needs
        .refused_starts(limits, catalog, is_without_model)
        .into_iter()
        .map(finding)
        .collect()
}

/// Finds that a run without a model has not enough turns for all steps, or does not follow what they execute (SPEC 10.13).
fn of_walk(judged: &Judged<'_>, limits: &LimitSet) -> Vec<Finding> {
    let place = &judged.leaf.name.span;
    let Walk { steps, depth, .. } = judged.needs.walk;
    let turns = judged.needs.walk.turns_of(judged.leaf);
    let mut findings = Vec::new();
    if judged.calls.is_empty() {
        let message =
            "its `<model>` has its steps carried out without a model, and no step has a call";
        let finding = Finding::warning("no-steps", message, place.clone());
        let help = "write a call into a step, or name another provider; a directive that only others extend needs none";
        return vec![finding.with_label("is refused when it runs").with_help(help)];
    }
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
fn place(catalog: &Catalog<'_>, judged: &Judged<'_>, source: &NeedSource) -> Range<usize> {
    let is_meant = |StepCall { step, placed, .. }: &&StepCall<'_>| {
        let callee = callee(&placed.value, catalog);
        match source {
            NeedSource::Step(name) => {
                step == name && matches!(callee, Some(Callee::Child(_) | Callee::OpenChild(_)))
            }
            _ => matches!(callee, Some(Callee::Executed(..))),
        }
    };
    let found = judged.calls.iter().find(is_meant);
    found.map_or(&judged.leaf.name.span, |call| &call.placed.span).clone()
}
