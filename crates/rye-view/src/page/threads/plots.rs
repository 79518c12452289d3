//! The money or the tokens per day and per directive.

use std::collections::{BTreeMap, HashMap};

use maud::{Markup, html};
use rye_transcript::ThreadId;
use rye_types::{Moment, Nanos};

use crate::Listed;
use crate::listed::{Filter, Plot};
use crate::page::figures::{compact, day_and_time, dollars, limit, usd, with_commas};
use crate::page::text::Shown;

/// The number of days in the plot.
const DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

/// The number of directives beside the plot.
const DIRECTIVES: usize = 6;

/// The figures of each day in the plot, the oldest first.
type Days = Vec<u64>;

impl Plot {
    const fn name(self) -> &'static str {
        match self {
            Self::Spend => "Spend",
            Self::Tokens => "Tokens",
        }
    }

    fn figure(self, row: &Listed) -> u64 {
        match self {
            Self::Spend => row.cost.get(),
            Self::Tokens => row.input().saturating_add(row.usage.output),
        }
    }

    /// Returns `true` if the row adds to the sum of all. The cost of a child is part of its parent's, and its tokens are not.
    const fn counts(self, row: &Listed) -> bool {
        matches!(self, Self::Tokens) || row.parent.is_none()
    }

    fn exact(self, figure: u64) -> String {
        match self {
            Self::Spend => dollars(Nanos::new(figure)),
            Self::Tokens => format!("{} tokens", with_commas(figure)),
        }
    }

    /// The label of a line of the plot.
    fn label(self, figure: u64) -> String {
        match self {
            Self::Spend => limit(Nanos::new(figure)),
            Self::Tokens => compact(figure),
        }
    }
}

pub(super) fn spend(all: &[Listed], filter: &Filter) -> Markup {
    let plot = filter.plot;
    let last = all.iter().map(day).max().unwrap_or(0);
    html! {
        div.spend {
            section aria-labelledby="h-d" {
                header { h2 #h-d { "Per day" } span.t3 { "last " (DAYS) " days" } (switch(filter)) }
                (days(all, plot, last))
            }
            section aria-label="Per directive" { (directives(&own_costs(all), plot, last)) }
        }
    }
}

/// The same rows with the cost of each thread alone: that of a listed child stands in the child's row.
fn own_costs(all: &[Listed]) -> Vec<Listed> {
    let mut below: HashMap<&ThreadId, Nanos> = HashMap::new();
    for row in all {
        if let Some(parent) = &row.parent {
            let sum = below.entry(parent).or_default();
            *sum = sum.saturating_add(row.cost);
        }
    }
    let own = |row: &Listed| {
        let below = below.get(&row.thread).copied().unwrap_or_default();
        let cost = Nanos::new(row.cost.get().saturating_sub(below.get()));
        Listed { cost, ..row.clone() }
    };
    all.iter().map(own).collect()
}

/// Links to both plots, which work without a script.
fn switch(filter: &Filter) -> Markup {
    html! {
        nav.seg aria-label="Plot" {
            @for plot in [Plot::Spend, Plot::Tokens] {
                a href=(filter.plotted(plot)) aria-current=[(plot == filter.plot).then_some("true")] { (plot.name()) }
            }
        }
    }
}

fn day(row: &Listed) -> i64 {
    row.created.as_unix_millis().div_euclid(DAY)
}

/// Adds the figure of a row to its day, if the plot has it.
fn add(days: &mut Days, row: &Listed, plot: Plot, last: i64) {
    let place = day(row).checked_sub(last - DAYS + 1).and_then(|place| usize::try_from(place).ok());
    if let Some(sum) = place.and_then(|place| days.get_mut(place)) {
        *sum = sum.saturating_add(plot.figure(row));
    }
}

fn no_days() -> Days {
    vec![0; usize::try_from(DAYS).unwrap_or(0)]
}

/// The figures of each day up to that of the newest thread.
fn days(all: &[Listed], plot: Plot, last: i64) -> Markup {
    let mut days = no_days();
    all.iter().filter(|row| plot.counts(row)).for_each(|row| add(&mut days, row, plot, last));
    let most = days.iter().copied().max().unwrap_or(0);
    let step = step(most);
    let top = most.div_ceil(step).max(1).saturating_mul(step);
    html! {
        svg.plot height="132" role="img" aria-label={ (plot.name()) " per day over " (DAYS) " days, at most " (plot.exact(most)) } {
            @for line in 0..=most.div_ceil(step) { (level(plot, line.saturating_mul(step), top)) }
            @for (place, (day, figure)) in (last - DAYS + 1..=last).zip(&days).enumerate() {
                (column(place, day, *figure, top, plot, day == last))
            }
        }
    }
}

/// The distance of the lines: a round number of which at most three fit below the largest figure.
fn step(most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [1, 2, 5].map(|digit| power.saturating_mul(digit)) {
            if most <= step.saturating_mul(3) {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The height of the plot, and the place of its lowest line.
const HEIGHT: f64 = 92.0;
const BASE: f64 = 112.0;

/// The height of a figure in a plot.
#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn height(figure: u64, top: u64, whole: f64) -> f64 {
    figure as f64 * whole / top.max(1) as f64
}

/// A line of the plot with its label.
fn level(plot: Plot, figure: u64, top: u64) -> Markup {
    let y = format!("{:.1}", BASE - height(figure, top, HEIGHT));
    let label = format!("{:.1}", BASE - height(figure, top, HEIGHT) - 3.0);
    html! {
        line class=(if figure == 0 { "base" } else { "grid" }) x1="0" x2="100%" y1=(y) y2=(y) {}
        text x="0" y=(label) { (plot.label(figure)) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn column(place: usize, day: i64, figure: u64, top: u64, plot: Plot, is_last: bool) -> Markup {
    let x = 7.0 + place as f64 * 3.1;
    let height = height(figure, top, HEIGHT);
    let date = day_and_time(Moment::from_unix_millis(day * DAY));
    let date = date.split(',').next().unwrap_or_default();
    html! {
        @if figure > 0 {
            rect class=(if is_last { "now" } else { "b" }) x={ (format!("{x:.2}")) "%" } y=(format!("{:.1}", BASE - height)) width="2.4%" height=(format!("{height:.1}")) {
                title { (date) ": " (plot.exact(figure)) }
            }
        }
        @if place % 7 == 1 { text x={ (format!("{:.2}", x + 1.2)) "%" } y="127" text-anchor=(if place > 26 { "end" } else { "middle" }) { (date.rsplit_once(' ').map_or(date, |(date, _)| date)) } }
    }
}

/// The sums of one directive.
struct Directive {
    cost: Nanos,
    tokens: u64,
    threads: u64,
    days: Days,
}

impl Directive {
    fn add(&mut self, row: &Listed, plot: Plot, last: i64) {
        self.cost = self.cost.saturating_add(row.cost);
        self.tokens = self.tokens.saturating_add(Plot::Tokens.figure(row));
        self.threads += 1;
        add(&mut self.days, row, plot, last);
    }

    const fn figure(&self, plot: Plot) -> u64 {
        match plot {
            Plot::Spend => self.cost.get(),
            Plot::Tokens => self.tokens,
        }
    }
}

/// The directives with the largest figures.
fn directives(all: &[Listed], plot: Plot, last: i64) -> Markup {
    let mut sums: BTreeMap<&str, Directive> = BTreeMap::new();
    for row in all {
        let none = || Directive { cost: Nanos::ZERO, tokens: 0, threads: 0, days: no_days() };
        sums.entry(&row.directive).or_insert_with(none).add(row, plot, last);
    }
    let mut sums: Vec<(&str, Directive)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.figure(plot), sum.threads)));
    html! {
        table {
            thead { tr {
                th scope="col" { "Per directive" } th.sp scope="col" { span.vh { (plot.name()) " per day" } }
                th.n scope="col" { "USD" } th.n scope="col" { "Tokens" } th.n scope="col" { "Threads" }
            } }
            tbody {
                @for (directive, sum) in sums.into_iter().take(DIRECTIVES) {
                    tr {
                        td { a href={ "?q=" (crate::listed::encode(directive)) } { (Shown(directive)) } }
                        td.sp { (spark(&sum.days)) }
                        td.n { (usd(sum.cost)) } td.n { (compact(sum.tokens)) } td.n { (with_commas(sum.threads)) }
                    }
                }
            }
        }
    }
}

/// The figures of each day as a small picture beside the same figures as text.
#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn spark(days: &Days) -> Markup {
    let most = days.iter().copied().max().unwrap_or(0);
    html! {
        svg.spark width="100%" height="16" aria-hidden="true" {
            @for (place, figure) in days.iter().enumerate().filter(|(_, figure)| **figure > 0) {
                @let height = height(*figure, most, 15.0).max(1.0);
                rect.b x={ (format!("{:.2}", place as f64 * 100.0 / DAYS as f64)) "%" } y=(format!("{:.1}", 16.0 - height)) width="2.6%" height=(format!("{height:.1}")) {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_at_round_figures() {
        for (most, expected) in [
            (0, 1),
            (3, 1),
            (4, 2),
            (7, 5),
            (15, 5),
            (16, 10),
            (1_400, 500),
            (u64::MAX, 10_000_000_000_000_000_000),
        ] {
            assert_eq!(step(most), expected, "{most}");
        }
    }
}
