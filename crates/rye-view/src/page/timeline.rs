//! The timeline of a thread: turns, model, tools, waits and children.

use maud::{Markup, html};

use rye_types::Nanos;

use super::figures::{dollars, duration, with_commas};
use super::scale::{Fold, Scale};
use super::text::{Shown, line, plain};
use crate::Source;
use crate::model::{PauseKind, Span, SpanKind, Thread};

/// A row of the picture: its name, its place from the top, and its spans.
struct Row {
    label: String,
    top: u32,
    height: u32,
    bars: Vec<Bar>,
}

/// A span on the picture; several short ones may be one bar.
struct Bar {
    span: Span,
    /// Its active time.
    length: u64,
    left: f64,
    width: f64,
    count: usize,
}

/// The most spans that are drawn one by one.
const MOST_SPANS: usize = 600;

/// The smallest bar of a thread with more, in percent of the width.
const MERGED: f64 = 0.5;

/// The timeline with its legends, its picture and the same as a table.
pub(crate) fn timeline(thread: &Thread<'_>) -> Markup {
    let scale = Scale::new(thread);
    let rows = rows(thread, &scale);
    let height = rows.last().map_or(80, |row| row.top + row.height + 12);
    let total = duration(thread.clock.total());
    let (money, tokens) = most(&rows);
    html! {
        section.tl id={ (thread.prefix) "timeline" } aria-labelledby={ (thread.prefix) "h-tl" } {
            header {
                h2 id={ (thread.prefix) "h-tl" } { "Timeline" }
                (legend(thread, &scale))
                (quantity_legend("lg-m", &format!("$0 to {} per span", dollars(money))))
                (quantity_legend("lg-t", &format!("0 to {} tokens per span", with_commas(tokens))))
                @if thread.prefix.is_empty() { div.ctl { (quantities()) } }
            }
            div.scroll tabindex="0" role="region" aria-label=(thread.label("Timeline, scrolls sideways")) {
                svg.fl height=(height) role="group"
                    aria-label={ "Turns, model, tools and children over " (total) " of active time" } {
                    (axis(&scale, height))
                    @for row in &rows {
                        text.lab x="0" y=(row.top + row.height - 5) { (row.label) }
                    }
                    @for row in &rows {
                        @for bar in &row.bars { (bar_picture(thread, bar, row, money, tokens)) }
                    }
                    @for fold in &scale.folds { (fold_picture(thread, fold, &scale)) }
                }
            }
            details {
                summary { "Timeline as a table" }
                (table(thread, &rows, &scale))
            }
        }
    }
}

fn rows(thread: &Thread<'_>, scale: &Scale<'_>) -> Vec<Row> {
    let of = |kinds: &[SpanKind]| -> Vec<&Span> {
        thread.spans.iter().filter(|span| kinds.contains(&span.kind)).collect()
    };
    let mut rows = vec![
        row("Turns", 26, 18, &of(&[SpanKind::Turn]), scale),
        row("Model", 48, 18, &of(&[SpanKind::Model, SpanKind::Retry]), scale),
        row("Tools", 70, 18, &of(&[SpanKind::Tool]), scale),
    ];
    let mut top = 98;
    for (place, child) in of(&[SpanKind::Child]).into_iter().take(MOST_CHILDREN).enumerate() {
        rows.push(row(&format!("Child {}", place + 1), top, 16, &[child], scale));
        top += 18;
        let spawn = thread.spawn(child.seq);
        let is_it = |source: &&Source<'_>| {
            spawn.as_ref().is_some_and(|spawn| spawn.child == source.record.thread)
        };
        let inside = thread.source.children.iter().find(is_it);
        if let Some(source) = inside {
            rows.push(inner_row(&Thread::read(source), top, child.seq, scale));
            top += 18;
        }
        top += 6;
    }
    rows
}

/// The most children that have a row of their own.
const MOST_CHILDREN: usize = 12;

/// The model and tool time of a child, below its own row. All of it leads to the record that started the child.
fn inner_row(child: &Thread<'_>, top: u32, seq: u64, scale: &Scale<'_>) -> Row {
    let kinds = [SpanKind::Model, SpanKind::Retry, SpanKind::Tool];
    let inside = child.spans.iter().filter(|span| kinds.contains(&span.kind));
    let spans: Vec<Span> = inside.map(|span| Span { seq, ..span.clone() }).collect();
    row("", top, 14, &spans.iter().collect::<Vec<_>>(), scale)
}

fn row(label: &str, top: u32, height: u32, spans: &[&Span], scale: &Scale<'_>) -> Row {
    let bar = |span: &&Span| {
        let left = scale.x(span.start);
        let width = (scale.x(span.end) - left).max(0.06);
        let length = scale.length(span.start, span.end);
        Bar { span: (*span).clone(), length, left, width, count: 1 }
    };
    let bars: Vec<Bar> = spans.iter().map(bar).collect();
    let bars = if MOST_SPANS < bars.len() { merge(bars) } else { bars };
    Row { label: label.to_owned(), top, height, bars }
}

/// Joins bars that begin within the smallest width of each other.
fn merge(bars: Vec<Bar>) -> Vec<Bar> {
    let mut merged: Vec<Bar> = Vec::new();
    for bar in bars {
        match merged.last_mut() {
            Some(last) if bar.left < last.left + MERGED => {
                last.width = last.width.max(bar.left + bar.width - last.left);
                last.count += 1;
                last.length = last.length.saturating_add(bar.length);
                last.span.cost = last.span.cost.saturating_add(bar.span.cost);
                last.span.tokens = last.span.tokens.saturating_add(bar.span.tokens);
                last.span.is_bad |= bar.span.is_bad;
            }
            _ => merged.push(bar),
        }
    }
    merged
}

/// The largest cost and the most tokens of a bar.
fn most(rows: &[Row]) -> (Nanos, u64) {
    let bars = rows.iter().flat_map(|row| &row.bars);
    bars.fold((Nanos::ZERO, 0), |(money, tokens), bar| {
        (money.max(bar.span.cost), tokens.max(bar.span.tokens))
    })
}

fn axis(scale: &Scale<'_>, height: u32) -> Markup {
    html! {
        @for (x, label) in scale.ticks() {
            line.cap x1=(percent(x)) x2=(percent(x)) y1="18" y2=(height) {}
            text x=(percent(x)) dx="3" y="14" { (label) }
        }
    }
}

fn bar_picture(thread: &Thread<'_>, bar: &Bar, row: &Row, money: Nanos, tokens: u64) -> Markup {
    let span = &bar.span;
    let name = name(bar);
    let class = format!(
        "s {}{} m{} k{}",
        span.kind.as_str(),
        if span.is_bad && span.kind != SpanKind::Retry { " bad" } else { "" },
        fifth(span.cost.get(), money.get()),
        fifth(span.tokens, tokens)
    );
    let target = match (span.kind, bar.count) {
        (SpanKind::Turn, _) => {
            thread.address(span.seq, &format!("{}t{}", thread.prefix, span.turn))
        }
        // A request is no entry of the conversation, and has its line alone.
        (SpanKind::Model | SpanKind::Retry, _) => thread.panel_address(span.seq),
        _ => thread.record_address(span.seq),
    };
    html! {
        a href=(target) aria-label=(name) {
            svg class=(class) x=(percent(bar.left)) y=(row.top) width=(percent(bar.width)) height=(row.height) {
                rect width="100%" height="100%" {}
                @if bar.width > 1.2 { text x="5" y=(row.height - 5) { (plain(&label(bar))) } }
                title { (name) }
            }
        }
    }
}

/// The words on a bar.
fn label(bar: &Bar) -> String {
    let span = &bar.span;
    match (bar.count, span.kind) {
        (1, SpanKind::Model) => duration(bar.length),
        (1, SpanKind::Retry) => String::new(),
        (1, _) => line(&span.label, 48),
        (count, _) => format!("×{count}"),
    }
}

/// The words for a reader that does not see the picture: the visible label first.
fn name(bar: &Bar) -> String {
    let span = &bar.span;
    let mut words = vec![label(bar), format!("{}: {}", span.kind.as_str(), duration(bar.length))];
    if bar.count > 1 {
        words.push(format!("{} spans", bar.count));
    }
    if span.kind == SpanKind::Retry {
        words.push(span.label.clone());
    }
    if span.is_bad {
        words.push("failed".to_owned());
    }
    if span.tokens > 0 {
        words.push(format!("{} tokens", with_commas(span.tokens)));
    }
    if span.cost > Nanos::ZERO {
        words.push(dollars(span.cost));
    }
    words.retain(|word| !word.is_empty());
    plain(&words.join(", "))
}

/// The step of five in which an amount lies.
fn fifth(amount: u64, most: u64) -> u64 {
    match (amount, most) {
        (0, _) | (_, 0) => 1,
        _ => (amount.saturating_mul(4) / most + 1).min(5),
    }
}

fn fold_picture(thread: &Thread<'_>, fold: &Fold, scale: &Scale<'_>) -> Markup {
    let left = scale.x(fold.start);
    let length = u64::try_from(fold.end - fold.start).unwrap_or(0);
    let (what, label) = match (fold.kind, fold.lasts) {
        (PauseKind::Approval, true) => ("approval wait", "waits".to_owned()),
        (PauseKind::Approval, false) => ("approval wait", duration(length)),
        (PauseKind::Stopped, _) => ("stopped", duration(length)),
    };
    html! {
        text.wl x=(percent(left + scale.fold / 2.0)) y="14" text-anchor="middle" { (label) }
        a href=(thread.record_address(fold.seq)) aria-label={ (label) ", " (what) } {
            svg.s.wait x=(percent(left)) y="20" width=(percent(scale.fold)) height="74" {
                rect width="100%" height="100%" {}
                title { (label) ", " (what) }
            }
        }
    }
}

fn percent(x: f64) -> String {
    format!("{x:.3}%")
}

fn legend(thread: &Thread<'_>, scale: &Scale<'_>) -> Markup {
    let of = |kind| thread.spans.iter().filter(move |span| span.kind == kind);
    let total =
        |kind: SpanKind| -> u64 { sum(of(kind).map(|span| scale.length(span.start, span.end))) };
    let rows = [
        ("model", "Model", total(SpanKind::Model)),
        ("tool", "Tools", total(SpanKind::Tool)),
        ("retry", "Retries", total(SpanKind::Retry)),
        ("child", "Children", total(SpanKind::Child)),
        ("wait", "Approval waits", pause_time(thread, PauseKind::Approval)),
        ("wait", "Stopped", pause_time(thread, PauseKind::Stopped)),
    ];
    let is_shown = |row: &&(&str, &str, u64)| row.2 > 0 || ["model", "tool"].contains(&row.0);
    html! {
        div.leg.lg-k {
            @for (class, label, millis) in rows.iter().filter(is_shown) {
                span { (key(class)) (label) " " (duration(*millis)) @if *class == "wait" { ", folded" } }
            }
        }
    }
}

fn pause_time(thread: &Thread<'_>, kind: PauseKind) -> u64 {
    let of = thread.pauses.iter().filter(|pause| pause.kind == kind);
    sum(of.filter_map(|pause| u64::try_from(pause.end? - pause.start).ok()))
}

fn sum(lengths: impl Iterator<Item = u64>) -> u64 {
    lengths.fold(0, u64::saturating_add)
}

/// The legend of the colours by money or by tokens.
fn quantity_legend(class: &str, text: &str) -> Markup {
    html! {
        div class={ "leg " (class) } {
            span {
                @for step in ["r1", "r2", "r3", "r4", "r5"] { (key(step)) }
                " " (text)
            }
            span { (key("retry")) "Retries" }
            span { (key("wait")) "Waits" }
        }
    }
}

fn key(class: &str) -> Markup {
    html! { svg.s aria-hidden="true" { rect class=(class) width="14" height="10" {} } }
}

fn quantities() -> Markup {
    html! {
        fieldset.seg {
            legend.vh { "Colour by" }
            @for (id, label) in [("time", "Time"), ("money", "Money"), ("tok", "Tokens")] {
                label { input type="radio" name="by" id={ "by-" (id) } checked[id == "time"]; (label) }
            }
        }
    }
}

fn table(thread: &Thread<'_>, rows: &[Row], scale: &Scale<'_>) -> Markup {
    let active = |wall| super::figures::offset(thread.clock.active(wall));
    html! {
        div.scroll tabindex="0" role="region" aria-label=(thread.label("Timeline as a table")) {
            table.spans {
                thead { tr { th scope="col" { "Kind" } th scope="col" { "What" } th.n scope="col" { "Start" }
                    th.n scope="col" { "Time" } th.n scope="col" { "Tokens" } th.n scope="col" { "USD" } th scope="col" { "Record" } } }
                tbody {
                    @for bar in rows.iter().flat_map(|row| &row.bars) {
                        tr {
                            td { (bar.span.kind.as_str()) @if bar.span.is_bad { ", failed" } }
                            td { (Shown(&line(&bar.span.label, 60))) @if bar.count > 1 { " ×" (bar.count) } }
                            td.n { (active(bar.span.start)) }
                            td.n { (duration(bar.length)) }
                            td.n { @if bar.span.tokens > 0 { (with_commas(bar.span.tokens)) } }
                            td.n { @if bar.span.cost > Nanos::ZERO { (dollars(bar.span.cost)) } }
                            td { a href=(thread.panel_address(bar.span.seq)) { (bar.span.seq) } }
                        }
                    }
                    @for fold in &scale.folds {
                        tr {
                            td { @match fold.kind { PauseKind::Approval => "approval wait", PauseKind::Stopped => "stopped" } }
                            td {} td.n { (active(fold.start)) }
                            td.n { (duration(u64::try_from(fold.end - fold.start).unwrap_or(0))) }
                            td.n {} td.n {} td { a href=(thread.panel_address(fold.seq)) { (fold.seq) } }
                        }
                    }
                }
            }
        }
    }
}
