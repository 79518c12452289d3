//! The timeline of a thread as text for a terminal: a row for each turn, wait and child.

use std::fmt::Write as _;

use rye_types::Nanos;

use crate::Source;
use crate::model::{Pause, PauseKind, Section, Span, SpanKind, Thread};
use crate::page::figures::{count_noun, dollars, duration, offset, with_commas};
use crate::page::text::{line, plain};

/// The characters that bars are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Charset {
    /// Characters of ASCII, for files and pipes.
    Ascii,
    /// Blocks, for a terminal.
    Blocks,
}

/// The columns of the bar of time, and of the bar of money.
const TIME: usize = 34;
const MONEY: usize = 8;

/// The length of a label of a child.
const LABEL: usize = 32;

/// A row of the picture: a turn, a wait or a child.
struct Row {
    /// The time of day at which it begins, for the order.
    at: i64,
    text: String,
}

/// Draws the turns, waits, children and money of a thread as bars.
pub(crate) fn timeline(source: &Source<'_>, charset: Charset) -> String {
    let thread = Thread::read(source);
    let picture = Picture { thread: &thread, charset };
    let turns = thread.sections.iter().filter(|section| section.turn.is_some());
    let children = thread.spans.iter().filter(|span| span.kind == SpanKind::Child);
    let mut rows: Vec<Row> = turns.map(|section| picture.turn(section)).collect();
    rows.extend(children.map(|span| picture.child(span)));
    rows.extend(thread.pauses.iter().map(|pause| picture.pause(pause)));
    rows.sort_by_key(|row| row.at);
    let mut text = picture.head();
    for row in rows {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", row.text.trim_end());
    }
    text.push_str(&picture.legend());
    text
}

struct Picture<'a> {
    thread: &'a Thread<'a>,
    charset: Charset,
}

impl Picture<'_> {
    fn head(&self) -> String {
        let source = self.thread.source;
        let total = self.thread.clock.total();
        let turns = count_noun(usize::try_from(self.thread.turns).unwrap_or(usize::MAX), "turn");
        format!(
            "{}  {turns}, {} active, {} tokens, {}\n\nturn    start      time     money {:MONEY$} 0{:>width$}\n",
            source.standing,
            duration(total),
            with_commas(self.thread.usage.total()),
            dollars(source.cost),
            "",
            duration(total),
            width = TIME - 1,
        )
    }

    fn turn(&self, section: &Section) -> Row {
        let turn = section.turn.unwrap_or(0);
        let spans: Vec<&Span> = self.thread.spans.iter().filter(|span| span.turn == turn).collect();
        let start = self.active(section.start);
        let end = self.active(section.end);
        let most = self.thread.sections.iter().map(|section| section.cost).max();
        let text = format!(
            "{turn:>4}  {:>7}  {:>8}  {:>8} {:MONEY$} {}",
            offset(start),
            duration(end.saturating_sub(start)),
            dollars(section.cost),
            self.money(section.cost, most.unwrap_or(Nanos::ZERO)),
            self.bar(&spans, start, end),
        );
        Row { at: section.start, text }
    }

    fn child(&self, span: &Span) -> Row {
        let start = self.active(span.start);
        let end = self.active(span.end);
        let name = line(&plain(&span.label), LABEL - 8);
        let label = format!("child {name}");
        let text = format!("      {label:<37} {}", self.bar(&[span], start, end));
        Row { at: span.start, text }
    }

    /// A wait has no bar, because it does not count as the thread's time.
    fn pause(&self, pause: &Pause) -> Row {
        let label = match pause.kind {
            PauseKind::Approval => "approval wait",
            PauseKind::Stopped => "stopped",
        };
        let length = match pause.end {
            Some(end) => duration(u64::try_from(end - pause.start).unwrap_or(0)),
            None => "lasts".to_owned(),
        };
        let text = format!("      {:>7}  {length:>8}  {label}", offset(self.active(pause.start)));
        Row { at: pause.start, text }
    }

    fn active(&self, wall: i64) -> u64 {
        self.thread.clock.active(wall)
    }

    /// The bar of a stretch of active time. In each column, the kind that matters most stands for all.
    fn bar(&self, spans: &[&Span], start: u64, end: u64) -> String {
        let total = u128::from(self.thread.clock.total().max(1));
        let width = u128::try_from(TIME).unwrap_or(1);
        let column = |place: u128| {
            let left = place * total / width;
            let right = ((place + 1) * total / width).max(left + 1);
            let lies = |from: u64, to: u64| {
                let from = u128::from(from);
                from < right && left < u128::from(to).max(from + 1)
            };
            if !lies(start, end) {
                return ' ';
            }
            let inside =
                spans.iter().filter(|span| lies(self.active(span.start), self.active(span.end)));
            let kinds: Vec<SpanKind> = inside.map(|span| span.kind).collect();
            self.character(&kinds)
        };
        (0..width).map(column).collect()
    }

    fn character(&self, kinds: &[SpanKind]) -> char {
        let rows = [SpanKind::Retry, SpanKind::Model, SpanKind::Tool, SpanKind::Child];
        let kind = rows.into_iter().find(|kind| kinds.contains(kind));
        self.mark(kind)
    }

    fn mark(&self, kind: Option<SpanKind>) -> char {
        let [ascii, block] = match kind {
            Some(SpanKind::Retry) => ['x', '╳'],
            Some(SpanKind::Model) => ['#', '█'],
            Some(SpanKind::Tool) => ['=', '▒'],
            Some(SpanKind::Child) => ['+', '▓'],
            _ => ['-', '─'],
        };
        match self.charset {
            Charset::Ascii => ascii,
            Charset::Blocks => block,
        }
    }

    /// The money of a turn as a part of the most expensive turn.
    fn money(&self, cost: Nanos, most: Nanos) -> String {
        let columns = u64::try_from(MONEY).unwrap_or(0);
        let filled = cost.get().saturating_mul(columns).div_ceil(most.get().max(1)).min(columns);
        let mark = if self.charset == Charset::Ascii { "$" } else { "■" };
        mark.repeat(usize::try_from(filled).unwrap_or(0))
    }

    fn legend(&self) -> String {
        let kinds = [SpanKind::Model, SpanKind::Tool, SpanKind::Child, SpanKind::Retry];
        let names = ["model", "tool", "child", "retry"];
        let marks = kinds.into_iter().zip(names);
        let marks: Vec<String> =
            marks.map(|(kind, name)| format!("{} {name}", self.mark(Some(kind)))).collect();
        format!("\n{}, {} other; waits do not count\n", marks.join(", "), self.mark(None))
    }
}
