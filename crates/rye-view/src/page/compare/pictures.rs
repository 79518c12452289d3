//! The timelines of two threads on one scale.

use maud::{Markup, html};

use super::Compared;
use crate::model::{Span, SpanKind, Thread};
use crate::page::figures::duration;
use crate::page::text::{Shown, plain};

/// The left and right ends of the picture, in percent.
const LEFT: f64 = 2.4;
const RIGHT: f64 = 99.8;

/// The most bars of one thread. The shortest ones are left out.
const MOST_BARS: usize = 400;

/// The section with both pictures.
pub(super) fn timelines(compared: &Compared<'_>) -> Markup {
    let totals = compared.threads.each_ref().map(|thread| thread.clock.total());
    let longest = totals.iter().copied().max().unwrap_or(0).max(1);
    let [a, b] = totals.map(duration);
    let about = format!("Timelines of A, {a}, and B, {b}, on one scale, without waits.");
    html! {
        section aria-labelledby="h-c" {
            h2.sec #h-c { "Timelines on one scale" }
            div.scroll tabindex="0" role="region" aria-label="Both timelines, scrolls sideways" {
                svg.fl.cmpfl role="img" aria-label=(about) {
                    (axis(longest))
                    @for (place, thread) in compared.threads.iter().enumerate() {
                        @let top = 26 + 32 * place;
                        text.lab x="0" y=(top + 13) { (["A", "B"][place]) }
                        @for span in bars(thread) { (bar(thread, span, top, longest)) }
                    }
                    (marks(compared, longest))
                }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn x(active: u64, longest: u64) -> f64 {
    LEFT + (RIGHT - LEFT) * active as f64 / longest as f64
}

/// Five lines with their times.
fn axis(longest: u64) -> Markup {
    html! {
        g {
            @for part in 0..5 {
                @let at = longest / 5 * part;
                line.cap x1={ (format!("{:.2}", x(at, longest))) "%" } x2={ (format!("{:.2}", x(at, longest))) "%" } y1="16" y2="84" {}
                text x={ (format!("{:.2}", x(at, longest))) "%" } dx="3" y="12" { (duration(at)) }
            }
        }
    }
}

/// The spans of models and tools in their order.
fn bars<'a>(thread: &'a Thread<'_>) -> Vec<&'a Span> {
    let kinds = [SpanKind::Model, SpanKind::Tool, SpanKind::Retry];
    let mut spans: Vec<&Span> =
        thread.spans.iter().filter(|span| kinds.contains(&span.kind)).collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.end - span.start));
    spans.truncate(MOST_BARS);
    spans.sort_by_key(|span| span.seq);
    spans
}

fn bar(thread: &Thread<'_>, span: &Span, top: usize, longest: u64) -> Markup {
    let left = x(thread.clock.active(span.start), longest);
    let width = (x(thread.clock.active(span.end), longest) - left).max(0.1);
    let label = match span.kind {
        SpanKind::Model => span.turn.to_string(),
        _ => span.label.clone(),
    };
    html! {
        svg class={ "s " (span.kind.as_str()) @if span.is_bad { " bad" } } x={ (format!("{left:.2}")) "%" } y=(top) width={ (format!("{width:.2}")) "%" } height="18" {
            title { (plain(&label)) }
            rect width="100%" height="100%" {}
            @if width > 3.0 { text x="4" y="13" { (Shown(&label)) } }
        }
    }
}

/// A line in each picture where the calls begin to differ.
fn marks(compared: &Compared<'_>, longest: u64) -> Markup {
    let place = compared.first_difference();
    let pair = place.and_then(|place| compared.pairs.get(place)).copied();
    let calls = pair.map(|pair| [compared.first(&pair), compared.second(&pair)]);
    html! {
        @for (row, call) in calls.into_iter().flatten().enumerate() {
            @if let Some(call) = call {
                @let at = format!("{:.2}%", x(call.began, longest));
                line.fd x1=(at) x2=(at) y1=(22 + 32 * row) y2=(48 + 32 * row) {}
            }
        }
    }
}
