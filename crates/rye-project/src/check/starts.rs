//! Calls that start threads, held against the limits of the directive (SPEC 10.5).

use std::ops::Range;

use rye_parse::Directive;

use super::Finding;
use super::catalog::{Catalog, Chain};
use super::grants::needs;
use crate::needs::{Callee, NeedSource, RefusedStart, callee};
use crate::plan::SetLimits;

/// Finds calls of steps that start a thread and that the limits refuse. The operator's options for one run may raise them.
pub(super) fn findings(catalog: &Catalog<'_>, chain: &Chain<'_>) -> Vec<Finding> {
    let Some((id, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let stated = chain.limits();
    let limits = SetLimits::of_root(catalog.limits.clone(), &stated, id).limits;
    let needs = needs(catalog, chain, leaf);
    let finding = |refused: RefusedStart| {
        let RefusedStart { limit, source, .. } = &refused;
        let place = place(catalog, leaf, source);
        let help = match stated.by.get(limit) {
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
    needs.refused_starts(&limits).into_iter().map(finding).collect()
}

/// The call of a step that starts the thread, or that executes the directive which does.
fn place(catalog: &Catalog<'_>, leaf: &Directive, source: &NeedSource) -> Range<usize> {
    let mut steps = (1..).zip(leaf.steps.iter().map(|step| &step.value));
    let step = steps.find(|(place, step)| match source {
        NeedSource::Step(name) => *name == step.name.clone().unwrap_or_else(|| place.to_string()),
        _ => false,
    });
    let mut actions: Box<dyn Iterator<Item = _>> = match step {
        Some((_, step)) => Box::new(step.actions.iter()),
        None => Box::new(leaf.steps.iter().flat_map(|step| &step.value.actions)),
    };
    let is_meant = |callee: Callee| match source {
        NeedSource::Step(_) => matches!(callee, Callee::Child(_) | Callee::OpenChild(_)),
        _ => matches!(callee, Callee::Executed(..)),
    };
    let found = actions.find(|action| callee(&action.value, catalog).is_some_and(is_meant));
    found.map_or(leaf.name.span.clone(), |action| action.span.clone())
}
