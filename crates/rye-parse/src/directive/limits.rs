//! `<limits>`: the limits of a run.

use rye_types::{Nanos, SpendLimit};

use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    suggest::suggestion,
    xml::{Attribute, Element, expect},
};

/// The limits that the directive sets (SPEC D8). Absent limits come from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Requests to the model.
    pub turns: Option<Spanned<u64>>,
    /// Input and output tokens together.
    pub tokens: Option<Spanned<u64>>,
    /// Cost.
    pub spend: Option<Spanned<SpendLimit>>,
    /// Wall time in seconds.
    pub duration_seconds: Option<Spanned<u64>>,
    /// Child threads.
    pub spawns: Option<Spanned<u64>>,
    /// The depth of nested child threads.
    pub depth: Option<Spanned<u64>>,
    /// The currency of `spend`, as written.
    pub spend_currency: Option<Spanned<String>>,
}

/// The canonical names.
const NAMES: [&str; 7] =
    ["turns", "tokens", "spend", "duration_seconds", "spawns", "depth", "spend_currency"];

/// The limits with which a thread that may have nothing of it ends before its first request.
const NEEDED: [&str; 3] = ["turns", "tokens", "duration_seconds"];

/// Parses `<limits>`.
pub(super) fn read(report: &mut Report<'_>, element: &Element<'_>) -> Limits {
    expect::no_text(report, element);
    for child in element.elements() {
        report_nested(report, element, child);
    }
    let mut limits = Limits::default();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for attribute in &element.attributes {
        let written = attribute.name.value;
        let name = canonical(written);
        if !NAMES.contains(&name) {
            unknown(report, attribute);
            continue;
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == name) {
            let kind =
                ProblemKind::LimitTwice { name: written.to_owned(), other: (*other).to_owned() };
            report.error(
                Problem::new(kind, attribute.name.span.clone(), "the same limit again")
                    .help("keep one of them"),
            );
            continue;
        }
        seen.push((name, written));
        set(report, &mut limits, name, attribute);
    }
    limits
}

/// Returns the canonical name for an older spelling.
fn canonical(name: &str) -> &str {
    match name {
        "max_turns" => "turns",
        "max_tokens" => "tokens",
        "max_spend" => "spend",
        name => name,
    }
}

fn set(report: &mut Report<'_>, limits: &mut Limits, name: &str, attribute: &Attribute<'_>) {
    let text = Spanned::new(attribute.value.value.trim().to_owned(), attribute.value.span.clone());
    let written = attribute.name.value;
    let place = text.span.clone();
    match name {
        "spend" => {
            limits.spend = spend(report, written, &text).map(|spend| Spanned::new(spend, place))
        }
        "spend_currency" if text.value.is_empty() => {
            expect::bad_value(report, written, &text, "a currency such as `USD`");
        }
        "spend_currency" => limits.spend_currency = Some(text),
        _ => {
            let number = expect::whole_number(report, written, &text);
            if number == Some(0) && NEEDED.contains(&name) {
                expect::bad_value(report, written, &text, "at least 1");
            }
            let number = number.map(|number| Spanned::new(number, place));
            match name {
                "turns" => limits.turns = number,
                "tokens" => limits.tokens = number,
                "duration_seconds" => limits.duration_seconds = number,
                "spawns" => limits.spawns = number,
                _ => limits.depth = number,
            }
        }
    }
}

fn spend(report: &mut Report<'_>, name: &str, text: &Spanned<String>) -> Option<SpendLimit> {
    if text.value == "unlimited" {
        return Some(SpendLimit::Unlimited);
    }
    let amount = amount(&text.value);
    if amount.is_none() {
        expect::bad_value(
            report,
            name,
            text,
            "an amount such as `0.50` (at most 9 decimals) or `unlimited`",
        );
    }
    amount.map(SpendLimit::AtMost)
}

/// Reads an amount with at most 9 written decimals. Returns `None` for other text, and if the amount is too large.
pub(super) fn amount(text: &str) -> Option<Nanos> {
    let (_, decimals) = text.split_once('.').unwrap_or_default();
    text.parse().ok().filter(|_| decimals.len() <= 9)
}

fn unknown(report: &mut Report<'_>, attribute: &Attribute<'_>) {
    let name = attribute.name.value;
    let problem = Problem::new(
        ProblemKind::UnknownLimit { name: name.to_owned() },
        attribute.name.span.clone(),
        "not a limit",
    );
    report.error(problem.help(suggestion(name, &NAMES)));
}

/// Reports a limit that is written as an element.
fn report_nested(report: &mut Report<'_>, element: &Element<'_>, child: &Element<'_>) {
    let kind = ProblemKind::UnknownElement {
        parent: element.name.value.to_owned(),
        name: child.name.value.to_owned(),
    };
    let problem = Problem::new(kind, child.name.span.clone(), "not an element of this place");
    report.error(problem.help("write limits as attributes, such as `<limits turns=\"6\"/>`"));
}
