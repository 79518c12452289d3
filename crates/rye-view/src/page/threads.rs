//! The list of threads, with the money that they cost per day and per directive.

mod plots;
mod trees;

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use rye_types::Nanos;

use self::plots::spend;
use self::trees::Trees;
use super::document::{document, icon};
use super::figures::{
    count_noun, day_and_time, dollars, duration, short_id, short_time, usd, with_commas,
};
use super::links::Links;
use super::summary::state;
use super::text::Shown;
use crate::Listed;
use crate::listed::{Column, Filter, Sort};

/// The rows of one page.
const ROWS: usize = 50;

/// The states, in the order of their filters.
const STATES: [&str; 7] =
    ["running", "suspended", "stopped", "error", "completed", "cancelled", "continued"];

/// The page with the list.
pub(crate) fn threads(all: &[Listed], filter: &Filter, project: &str) -> String {
    let trees = Trees::new(all);
    let mut matching: Vec<&Listed> =
        trees.newest_first().into_iter().filter(|row| filter.includes(row)).collect();
    if filter.sort != Sort::default() {
        filter.sort.apply(&mut matching);
    }
    let start = filter.before.as_ref().map_or(0, |before| {
        matching.iter().position(|row| row.thread == *before).map_or(0, |place| place + 1)
    });
    let rows = matching.get(start..).unwrap_or_default();
    let rows = rows.get(..ROWS.min(rows.len())).unwrap_or_default();
    let body = html! {
        div.head { h1 { "Threads" } span.t2 { (count_noun(all.len(), "thread")) " · " (dollars(total(all))) } }
        (filters(all, filter))
        @if !all.is_empty() { (spend(all, filter)) }
        @if rows.is_empty() { (nothing(all, filter)) } @else { (table(rows, &trees, filter)) }
        (pages(&matching, start, rows, filter))
    };
    document("Threads", project, Links::Served, &body).into_string()
}

/// The cost of all trees. A child's cost is part of its parent's.
fn total(all: &[Listed]) -> Nanos {
    let roots = all.iter().filter(|row| row.parent.is_none());
    roots.fold(Nanos::ZERO, |sum, row| sum.saturating_add(row.cost))
}

fn filters(all: &[Listed], filter: &Filter) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in all {
        *counts.entry(row.standing).or_default() += 1;
    }
    let models: BTreeSet<&str> = all.iter().filter_map(|row| row.model.as_deref()).collect();
    html! {
        form.filters role="search" {
            @for (name, value) in filter.view() { input type="hidden" name=(name) value=(value); }
            input type="search" name="q" value=(super::text::plain(&filter.text)) placeholder="Directive or thread id" aria-label="Directive or thread id";
            div.chips role="group" aria-label="States" {
                @for name in STATES.iter().filter(|name| counts.contains_key(**name)) {
                    label {
                        input type="checkbox" name="state" value=(name) checked[filter.states.iter().any(|it| it == name)];
                        (state(name)) span.t3 { (counts.get(name).copied().unwrap_or(0)) }
                    }
                }
            }
            @if models.len() > 1 || !filter.model.is_empty() { (model_choice(&models, &filter.model)) }
            button.btn { "Filter" }
        }
    }
}

fn model_choice(models: &BTreeSet<&str>, chosen: &str) -> Markup {
    html! {
        select name="model" aria-label="Model" {
            option value="" { "Any model" }
            @for model in models { option value=(super::text::plain(model)) selected[*model == chosen] { (super::text::plain(model)) } }
        }
    }
}

fn table(rows: &[&Listed], trees: &Trees<'_>, filter: &Filter) -> Markup {
    html! {
        table.list {
            caption.vh { "Threads" }
            thead { tr {
                (head(Column::State, "State", "", filter)) (head(Column::Directive, "Directive", "", filter))
                th.o.x scope="col" { "Thread" }
                (head(Column::Model, "Model", "o", filter)) (head(Column::Turns, "Turns", "n o", filter))
                (head(Column::Input, "Tokens in", "n o", filter)) (head(Column::Output, "Tokens out", "n o", filter))
                (head(Column::Cost, "USD", "n", filter)) (head(Column::Duration, "Time", "n t", filter))
                (head(Column::Started, "Started", "n", filter))
                th.o.x scope="col" { "Tree" } th.o scope="col" { span.vh { "Compare" } }
            } }
            tbody { @for row in rows { (table_row(row, trees, filter)) } }
        }
    }
}

/// The head of a column, with a link to the list in its order.
fn head(column: Column, name: &str, class: &str, filter: &Filter) -> Markup {
    let direction = filter.sort.direction(column);
    let arrow = direction.map(|direction| if direction == "ascending" { " ↑" } else { " ↓" });
    html! {
        th scope="col" class=[Some(class).filter(|class| !class.is_empty())] aria-sort=[direction] {
            a href=(filter.sorted_by(column)) {
                (name) @if let Some(arrow) = arrow { span aria-hidden="true" { (arrow) } }
            }
        }
    }
}

fn table_row(row: &Listed, trees: &Trees<'_>, filter: &Filter) -> Markup {
    let is_child = row.parent.as_ref().is_some_and(|parent| trees.has(parent));
    let is_below = is_child && filter.sort == Sort::default();
    let id = short_id(row.thread.as_str());
    let children = trees.children.get(&row.thread).map_or(0, Vec::len);
    let model = row.model.as_deref().unwrap_or_default();
    html! {
        tr.kid[is_below] {
            td { (state(row.standing)) }
            td.d { a href={ "../thread/" (row.thread) } { (Shown(&row.directive)) } (summary_line(row, &id)) }
            td.m.t2.o.x { (id) }
            td.t2.o { (Shown(model)) }
            td.n.o { (with_commas(row.turns)) }
            td.n.o { (with_commas(row.input())) }
            td.n.o { (with_commas(row.usage.output)) }
            td.n { (usd(row.cost)) }
            td.n.t { (lasted(row)) }
            td.n { time datetime=(row.created) title=(day_and_time(row.created)) { (short_time(row.created)) } }
            td.o.x.t3 { @if row.parent.is_some() { "child" } @else if children > 0 { (counted_children(children)) } }
            td.o { (comparison(row, trees)) }
        }
    }
}

/// The figures below the directive, where the page is too narrow for their columns.
fn summary_line(row: &Listed, id: &str) -> Markup {
    let turns = count_noun(usize::try_from(row.turns).unwrap_or(usize::MAX), "turn");
    html! {
        span.sub {
            span.m { (id) }
            @if let Some(model) = &row.model { " · " (Shown(model)) }
            " · " (turns) " · " (with_commas(row.usage.total())) " tokens"
        }
    }
}

fn lasted(row: &Listed) -> String {
    duration(u64::try_from(row.duration.as_millis()).unwrap_or(u64::MAX))
}

/// The link to the comparison with the preceding thread of the same directive.
fn comparison(row: &Listed, trees: &Trees<'_>) -> Markup {
    html! {
        @if let Some(previous) = trees.previous.get(&row.thread) {
            a href={ "../compare/?a=" (previous) "&b=" (row.thread) } { "compare" span.vh { " with the preceding thread" } }
        }
    }
}

fn counted_children(count: usize) -> String {
    if count == 1 { "1 child".to_owned() } else { format!("{count} children") }
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
                @if let (Some(last), true) = (rows.last(), end < matching.len()) { a.end href=(filter.older_than(&last.thread)) { @if filter.sort == Sort::default() { "Older" } @else { "More" } } }
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

#[cfg(test)]
mod tests;
