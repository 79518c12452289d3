//! The list of threads, with the money that they cost per day and per directive.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rye_thread::{Moment, Nanos, ThreadId};

use super::document::{document, icon};
use super::figures::{count_noun, day_and_time, dollars, short_id, short_time, with_commas};
use super::links::Links;
use super::summary::state;
use super::text::Shown;
use crate::{Filter, Listed};

/// The rows of one page.
const ROWS: usize = 50;

/// The states, in the order of their filters.
const STATES: [&str; 7] =
    ["running", "suspended", "stopped", "error", "completed", "cancelled", "continued"];

/// The page with the list.
pub(crate) fn threads(all: &[Listed], filter: &Filter, project: &str) -> String {
    let trees = Trees::new(all);
    let matching: Vec<&Listed> =
        trees.newest_first().into_iter().filter(|row| filter.includes(row)).collect();
    let start = filter.before.as_ref().map_or(0, |before| {
        matching.iter().position(|row| row.thread == *before).map_or(0, |place| place + 1)
    });
    let rows = matching.get(start..).unwrap_or_default();
    let rows = rows.get(..ROWS.min(rows.len())).unwrap_or_default();
    let body = html! {
        div.head { h1 { "Threads" } span.t2 { (count_noun(all.len(), "thread")) " · " (dollars(total(all))) } }
        (filters(all, filter))
        @if !all.is_empty() { (spend(all)) }
        @if rows.is_empty() { (nothing(all, filter)) } @else { (table(rows, &trees)) }
        (pages(&matching, start, rows, filter))
    };
    document("Threads", project, Links::Served, &body).into_string()
}

/// The cost of all trees. A child's cost is part of its parent's.
fn total(all: &[Listed]) -> Nanos {
    roots(all).fold(Nanos::ZERO, |sum, row| sum.saturating_add(row.cost))
}

fn roots(all: &[Listed]) -> impl Iterator<Item = &Listed> {
    all.iter().filter(|row| row.parent.is_none())
}

fn filters(all: &[Listed], filter: &Filter) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in all {
        *counts.entry(row.standing).or_default() += 1;
    }
    html! {
        form.filters role="search" {
            input type="search" name="q" value=(super::text::plain(&filter.text)) placeholder="Directive or thread id" aria-label="Directive or thread id";
            div.chips role="group" aria-label="States" {
                @for name in STATES.iter().filter(|name| counts.contains_key(**name)) {
                    label {
                        input type="checkbox" name="state" value=(name) checked[filter.states.iter().any(|it| it == name)];
                        (state(name)) span.t3 { (counts.get(name).copied().unwrap_or(0)) }
                    }
                }
            }
            button.btn { "Filter" }
        }
    }
}

fn spend(all: &[Listed]) -> Markup {
    html! {
        div.spend {
            section aria-labelledby="h-d" { header { h2 #h-d { "Per day" } span.t3 { "last " (DAYS) " days" } } (days(all)) }
            section aria-label="Per directive" { (directives(all)) }
        }
    }
}

/// The number of days in the plot.
const DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

/// The money of each day up to that of the newest thread.
fn days(all: &[Listed]) -> Markup {
    let day = |row: &Listed| row.created.as_unix_millis().div_euclid(DAY);
    let last = all.iter().map(day).max().unwrap_or(0);
    let mut sums: BTreeMap<i64, Nanos> = BTreeMap::new();
    for row in roots(all) {
        let sum = sums.entry(day(row)).or_default();
        *sum = sum.saturating_add(row.cost);
    }
    let shown: Vec<(i64, Nanos)> = (last - DAYS + 1..=last)
        .map(|day| (day, sums.get(&day).copied().unwrap_or_default()))
        .collect();
    let most = shown.iter().map(|(_, cost)| cost.get()).max().unwrap_or(0).max(1);
    html! {
        svg.plot height="132" role="img" aria-label={ "Spend per day over " (DAYS) " days, at most " (dollars(Nanos::new(most))) } {
            text x="0" y="12" { (dollars(Nanos::new(most))) }
            line.base x1="0" x2="100%" y1="112" y2="112" {}
            @for (place, (day, cost)) in shown.iter().enumerate() {
                (column(place, *day, *cost, most, *day == last))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
fn column(place: usize, day: i64, cost: Nanos, most: u64, is_last: bool) -> Markup {
    let x = 7.0 + place as f64 * 3.1;
    let height = cost.get() as f64 * 90.0 / most as f64;
    let date = day_and_time(Moment::from_unix_millis(day * DAY));
    let date = date.split(',').next().unwrap_or_default();
    html! {
        @if cost > Nanos::ZERO {
            rect class=(if is_last { "now" } else { "b" }) x={ (format!("{x:.2}")) "%" } y=(format!("{:.1}", 112.0 - height)) width="2.4%" height=(format!("{height:.1}")) {
                title { (date) ": " (dollars(cost)) }
            }
        }
        @if place % 7 == 1 { text x={ (format!("{:.2}", x + 1.2)) "%" } y="127" text-anchor=(if place > 26 { "end" } else { "middle" }) { (date.rsplit_once(' ').map_or(date, |(date, _)| date)) } }
    }
}

/// The directives that cost most.
fn directives(all: &[Listed]) -> Markup {
    let mut sums: BTreeMap<&str, (Nanos, u64)> = BTreeMap::new();
    for row in all {
        let (cost, count) = sums.entry(&row.directive).or_default();
        (*cost, *count) = (cost.saturating_add(row.cost), *count + 1);
    }
    let mut sums: Vec<(&str, (Nanos, u64))> = sums.into_iter().collect();
    sums.sort_by_key(|(_, (cost, count))| std::cmp::Reverse((*cost, *count)));
    html! {
        table {
            thead { tr { th scope="col" { "Per directive" } th.n scope="col" { "USD" } th.n scope="col" { "Threads" } } }
            tbody {
                @for (directive, (cost, count)) in sums.into_iter().take(6) {
                    tr {
                        td { a href={ "?q=" (crate::listed::encode(directive)) } { (Shown(directive)) } }
                        td.n { (dollars(cost)) } td.n { (with_commas(count)) }
                    }
                }
            }
        }
    }
}

fn table(rows: &[&Listed], trees: &Trees<'_>) -> Markup {
    html! {
        table.list {
            caption.vh { "Threads, the newest first" }
            thead { tr {
                th scope="col" { "State" } th scope="col" { "Directive" } th.o scope="col" { "Thread" }
                th.n scope="col" { "USD" } th.n scope="col" { "Started" } th.o scope="col" { "Tree" }
            } }
            tbody { @for row in rows { (table_row(row, trees)) } }
        }
    }
}

fn table_row(row: &Listed, trees: &Trees<'_>) -> Markup {
    let is_child = row.parent.as_ref().is_some_and(|parent| trees.has(parent));
    let id = short_id(row.thread.as_str());
    let children = trees.children.get(&row.thread).map_or(0, Vec::len);
    html! {
        tr.kid[is_child] {
            td { (state(row.standing)) }
            td.d { a href={ "../thread/" (row.thread) } { (Shown(&row.directive)) } span.sub { (id) } }
            td.m.t2.o { (id) }
            td.n { (dollars(row.cost)) }
            td.n { time datetime=(row.created) title=(day_and_time(row.created)) { (short_time(row.created)) } }
            td.o.t3 { @if row.parent.is_some() { "child" } @else if children > 0 { (counted_children(children)) } }
        }
    }
}

fn counted_children(count: usize) -> String {
    if count == 1 { "1 child".to_owned() } else { format!("{count} children") }
}

/// The threads by the threads that started them.
struct Trees<'a> {
    all: BTreeMap<&'a ThreadId, &'a Listed>,
    roots: Vec<&'a Listed>,
    /// The oldest child first.
    children: BTreeMap<&'a ThreadId, Vec<&'a Listed>>,
}

impl<'a> Trees<'a> {
    fn new(all: &'a [Listed]) -> Self {
        let mut trees = Self {
            all: all.iter().map(|row| (&row.thread, row)).collect(),
            roots: Vec::new(),
            children: BTreeMap::new(),
        };
        for row in all {
            match row.parent.as_ref().filter(|parent| trees.has(parent)) {
                Some(parent) => trees.children.entry(parent).or_default().insert(0, row),
                None => trees.roots.push(row),
            }
        }
        trees
    }

    fn has(&self, thread: &ThreadId) -> bool {
        self.all.contains_key(thread)
    }

    /// The newest tree first, and in it each thread before its children.
    fn newest_first(&self) -> Vec<&'a Listed> {
        let mut rows = Vec::new();
        let mut left: Vec<&'a Listed> = self.roots.iter().rev().copied().collect();
        while let Some(row) = left.pop() {
            rows.push(row);
            left.extend(self.children.get(&row.thread).into_iter().flatten().rev().copied());
        }
        rows
    }
}

fn nothing(all: &[Listed], filter: &Filter) -> Markup {
    html! {
        p.t2 {
            @if all.is_empty() { "No thread has run in this project yet. " code { "rye run" } " starts one." }
            @else if !filter.is_empty() { "No thread passes these filters. " a href="?" { "Remove filters" } }
            @else { "There are no older threads. " a href="?" { "Newest" } }
        }
    }
}

fn pages(matching: &[&Listed], start: usize, rows: &[&Listed], filter: &Filter) -> Markup {
    let end = start + rows.len();
    html! {
        @if ROWS < matching.len() {
            nav.pages aria-label="Pages" {
                span { (start + 1) " to " (end) " of " (matching.len()) }
                @if let (Some(last), true) = (rows.last(), end < matching.len()) { a.end href=(filter.older_than(&last.thread)) { "Older" } }
            }
        }
    }
}

/// A page that says why there is no other.
pub(crate) fn problem(sentence: &str, project: &str) -> String {
    let body = html! {
        div.head { h1 { "No page" } }
        div.bannerbar.stop role="alert" { span.er { (icon("error")) } span { (Shown(sentence)) } }
        p { a href="../threads/" { "Threads" } }
    };
    document("No page", project, Links::Served, &body).into_string()
}
