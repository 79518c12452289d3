//! `<cost>`: the author's estimate of a run's resources.

use super::limits::amount;
use crate::{
    Spanned,
    problem::Report,
    xml::{Element, expect},
};

/// The author's estimate (SPEC 3.3). It limits nothing; use [`Limits`](crate::Limits) for that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Tokens of the context.
    pub context: Option<Spanned<CostContext>>,
    /// Seconds.
    pub duration: Option<Spanned<u64>>,
    /// Billionths of the currency unit.
    pub spend: Option<Spanned<u64>>,
    /// The currency of `spend`, as written.
    pub currency: Option<Spanned<String>>,
}

/// `<context>` of `<cost>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostContext {
    /// Tokens; absent if the element has no text.
    pub tokens: Option<u64>,
    /// A word such as `high`, as written.
    pub estimated_usage: Option<String>,
    /// Requests to the model.
    pub turns: Option<u64>,
    /// The number of items from which on a child thread is worth its cost.
    pub spawn_threshold: Option<u64>,
}

/// Parses `<cost>`.
pub(super) fn read(report: &mut Report<'_>, element: &Element<'_>) -> Spanned<Cost> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut cost = Cost::default();
    let mut seen = Vec::new();
    for child in element.elements() {
        let name = child.name.value;
        if !["context", "duration", "spend"].contains(&name) {
            expect::unknown_child(report, element, child, &["context", "duration", "spend"]);
        } else if expect::first(report, child, &mut seen) {
            match name {
                "context" => cost.context = Some(context(report, child)),
                "duration" => cost.duration = duration(report, child),
                _ => spend(report, child, &mut cost),
            }
        }
    }
    Spanned::new(cost, element.span.clone())
}

fn context(report: &mut Report<'_>, element: &Element<'_>) -> Spanned<CostContext> {
    expect::attributes(report, element, &["estimated_usage", "turns", "spawn_threshold"]);
    let mut number = |name: &str| {
        let text = expect::optional(report, element, name)?;
        expect::whole_number(report, name, &text)
    };
    let turns = number("turns");
    let spawn_threshold = number("spawn_threshold");
    let estimated_usage =
        expect::optional(report, element, "estimated_usage").map(|text| text.value);
    let text = expect::text(report, element);
    let tokens =
        if text.value.is_empty() { None } else { expect::whole_number(report, "context", &text) };
    Spanned::new(
        CostContext { tokens, estimated_usage, turns, spawn_threshold },
        element.span.clone(),
    )
}

fn duration(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<u64>> {
    expect::attributes(report, element, &[]);
    let text = expect::some_text(report, element)?;
    let seconds = expect::whole_number(report, "duration", &text)?;
    Some(Spanned::new(seconds, text.span))
}

fn spend(report: &mut Report<'_>, element: &Element<'_>, cost: &mut Cost) {
    expect::attributes(report, element, &["currency"]);
    cost.currency = expect::optional(report, element, "currency");
    let Some(text) = expect::some_text(report, element) else { return };
    match amount(&text.value) {
        Some(amount) => cost.spend = Some(Spanned::new(amount.get(), text.span)),
        None => expect::bad_value(
            report,
            "spend",
            &text,
            "an amount such as `0.50` (at most 9 decimals)",
        ),
    }
}
