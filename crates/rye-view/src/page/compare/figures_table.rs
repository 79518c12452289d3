//! The figures of two threads beside each other.

use maud::{Markup, html};
use rye_types::Nanos;
use serde_json::Value;

use super::{Compared, innermost};
use crate::Source;
use crate::model::{PauseKind, Thread};
use crate::page::document::icon;
use crate::page::figures::{dollars, duration, short_id, short_time, with_commas};
use crate::page::summary::state;
use crate::page::text::Shown;

/// One row: the figure of each thread, and their difference in words.
struct Row {
    name: &'static str,
    values: [Markup; 2],
    difference: String,
}

/// The table of figures.
pub(super) fn figures_table(compared: &Compared<'_>) -> Markup {
    let sources = compared.sources();
    html! {
        table.cmp {
            caption.vh { "Summary of both threads" }
            thead { tr {
                th scope="col" { span.vh { "Figure" } }
                @for (name, source) in ["A", "B"].iter().zip(sources) {
                    th.n scope="col" { span.ab { (name) } " " a href={ "../thread/" (source.record.thread) } { (short_id(source.record.thread.as_str())) } ", " (short_time(source.record.created)) }
                }
                th.n scope="col" { "B − A" }
            } }
            tbody {
                @for row in texts(sources).into_iter().chain(numbers(compared)) {
                    tr.same[row.difference == SAME] {
                        th.t3 scope="row" { (row.name) }
                        @for value in &row.values { td.n { (value) } }
                        td.n.nb { (row.difference) }
                    }
                }
                tr.same { th.t3 scope="row" { "Chain" } @for _ in 0..2 { td.n { (icon("seal")) " verified" } } td.n.nb { (SAME) } }
            }
        }
    }
}

const SAME: &str = "same";

fn texts(sources: [&Source<'_>; 2]) -> Vec<Row> {
    let row = |name, texts: [String; 2]| {
        let difference = if texts[0] == texts[1] { SAME } else { "differs" };
        let values = texts.map(|text| html! { (Shown(&text)) });
        Row { name, values, difference: difference.to_owned() }
    };
    let standing = |source: &Source<'_>| source.standing;
    let outcome = Row {
        name: "Outcome",
        values: sources.map(|source| state(source.standing)),
        difference: match standing(sources[0]) == standing(sources[1]) {
            true => SAME.to_owned(),
            false => "differs".to_owned(),
        },
    };
    vec![
        outcome,
        row("Directive", sources.map(directive)),
        row("Model", sources.map(|source| source.record.model.clone().unwrap_or_default())),
    ]
}

/// The directive with the beginning of its digest, which changes with its text.
fn directive(source: &Source<'_>) -> String {
    let leaf = source.record.facts.get("chain").and_then(|chain| chain.get(0));
    let digest = leaf.and_then(|leaf| leaf.get("content_sha256")).and_then(Value::as_str);
    let digest = digest.and_then(|digest| digest.get(..8)).unwrap_or_default();
    format!("{} {digest}", source.record.directive)
}

fn numbers(compared: &Compared<'_>) -> Vec<Row> {
    let [a, b] = &compared.threads;
    let counted = |name, count: fn(&Thread<'_>) -> u64| {
        let counts = [count(a), count(b)];
        number(name, counts, with_commas)
    };
    let calls = [0, 1].map(|place| length(compared.calls[place].len()));
    let prompts = [0, 1].map(|place| length(compared.prompts[place].chars().count()));
    let patterns = [0, 1].map(|place| length(innermost(compared.sources()[place]).len()));
    vec![
        number("Prompt, characters", prompts, with_commas),
        number("Authority, patterns", patterns, with_commas),
        counted("Turns", |thread| thread.turns),
        number("Calls", calls, with_commas),
        counted("Tokens", |thread| thread.usage.total()),
        number("USD, with children", compared.sources().map(|source| source.cost.get()), |cost| {
            dollars(Nanos::new(cost))
        }),
        number("Time, without waits", [a, b].map(|thread| thread.clock.total()), duration),
        number("Approval waits", [a, b].map(approval_waits), duration),
        counted("Errors", |thread| length(thread.errors.len())),
    ]
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The time for which calls waited for decisions, in milliseconds. A wait that lasts counts up to the last record.
fn approval_waits(thread: &Thread<'_>) -> u64 {
    let waits = thread.pauses.iter().filter(|pause| pause.kind == PauseKind::Approval);
    let lengths = waits.map(|pause| pause.end.unwrap_or(thread.clock.last()) - pause.start);
    lengths.map(|length| u64::try_from(length).unwrap_or(0)).sum()
}

fn number(name: &'static str, values: [u64; 2], shown: fn(u64) -> String) -> Row {
    let [first, second] = values;
    let difference = match second.cmp(&first) {
        std::cmp::Ordering::Equal => SAME.to_owned(),
        std::cmp::Ordering::Greater => format!("+{}", shown(second - first)),
        std::cmp::Ordering::Less => format!("−{}", shown(first - second)),
    };
    Row { name, values: values.map(|value| html! { (shown(value)) }), difference }
}
