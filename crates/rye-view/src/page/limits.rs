//! The limits of a thread with what was used of them.

use maud::{Markup, html};

use rye_types::SpendLimit;

use super::figures::{dollars, duration, limit, with_commas};
use crate::model::{SpanKind, Thread};

struct Row {
    name: &'static str,
    used: u64,
    reserved: u64,
    maximum: Option<u64>,
    shown: String,
    of: String,
    note: String,
}

/// The section of the summary with a bar for each limit.
pub(crate) fn limits(thread: &Thread<'_>) -> Markup {
    html! {
        section aria-labelledby={ (thread.prefix) "h-l" } {
            h2 id={ (thread.prefix) "h-l" } { "Limits" }
            table.lim {
                tbody { @for row in rows(thread) { (limit_row(&row)) } }
            }
        }
    }
}

fn rows(thread: &Thread<'_>) -> Vec<Row> {
    let limits = &thread.source.record.limits;
    let children = thread.spans.iter().filter(|span| span.kind == SpanKind::Child).count();
    let plain = |name, used, maximum| Row {
        name,
        used,
        reserved: 0,
        maximum: Some(maximum),
        shown: with_commas(used),
        of: with_commas(maximum),
        note: String::new(),
    };
    let active = thread.clock.total();
    let time = Row {
        shown: duration(active),
        of: duration(limits.duration_seconds.saturating_mul(1_000)),
        note: if thread.pauses.is_empty() { "" } else { "without waits" }.to_owned(),
        ..plain("Time", active, limits.duration_seconds.saturating_mul(1_000))
    };
    let mut rows = vec![
        plain("Turns", thread.turns, limits.turns),
        plain("Tokens", thread.usage.total(), limits.tokens),
        spend(thread),
        time,
    ];
    if children > 0 {
        rows.push(plain("Children", u64::try_from(children).unwrap_or(u64::MAX), limits.spawns));
    }
    rows
}

fn spend(thread: &Thread<'_>) -> Row {
    let cost = thread.source.cost;
    let reserved = thread.source.reserved;
    let maximum = match thread.source.record.limits.spend {
        SpendLimit::AtMost(cap) => Some(cap),
        SpendLimit::Unlimited => None,
    };
    Row {
        name: "Spend",
        used: cost.get(),
        reserved: reserved.get(),
        maximum: maximum.map(rye_types::Nanos::get),
        shown: dollars(cost),
        of: maximum.map_or_else(|| "no limit".to_owned(), limit),
        note: if reserved.get() > 0 {
            format!("+ {} reserved", dollars(reserved))
        } else {
            String::new()
        },
    }
}

fn limit_row(row: &Row) -> Markup {
    let share = |amount: u64| row.maximum.map_or(0.0, |maximum| share(amount, maximum));
    let used = share(row.used);
    let reserved = share(row.reserved);
    let class = if used >= 80.0 { "use hi" } else { "use" };
    html! {
        tr {
            th scope="row" { (row.name) }
            td.bar {
                svg aria-hidden="true" {
                    rect.trk x="0" y="0.5" width="100%" height="7" {}
                    rect class=(class) y="0.5" width={ (format!("{used:.1}")) "%" } height="7" {}
                    @if reserved > 0.0 {
                        rect.res x={ (format!("{used:.1}")) "%" } y="0.5" width={ (format!("{:.1}", reserved.min(100.0 - used))) "%" } height="7" {}
                    }
                }
            }
            td.n.nb { (row.shown) }
            td.n.nb.t3 { @if row.maximum.is_some() { "of " } (row.of) }
            td.t3.nb { (row.note) @if used >= 100.0 { "reached" } }
        }
    }
}

/// The part of the maximum in percent, at most all of it. A maximum of nothing is reached.
#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn share(amount: u64, maximum: u64) -> f64 {
    match (amount, maximum) {
        (0, _) => 0.0,
        (_, 0) => 100.0,
        _ => (amount as f64 * 100.0 / maximum as f64).min(100.0),
    }
}
