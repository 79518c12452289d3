//! The page that compares two threads.

mod figures_table;
mod pictures;

use std::collections::BTreeSet;

use maud::{Markup, html};
use rye_parse::unified_diff;
use rye_transcript::{Event, EventKind, ThreadId};

use self::figures_table::figures_table;
use self::pictures::timelines;
use super::diff;
use super::document::document;
use super::figures::{count_noun, duration, short_id, short_time};
use super::links::Links;
use super::text::{Shown, line};
use crate::model::Thread;
use crate::model::alignment::{Called, MOST_CALLS, Pair, align, calls};
use crate::{Listed, Source};

/// Two threads with their calls.
struct Compared<'a> {
    threads: [Thread<'a>; 2],
    calls: [Vec<Called>; 2],
    pairs: Vec<Pair>,
    prompts: [String; 2],
}

impl<'a> Compared<'a> {
    fn new(first: &'a Source<'a>, second: &'a Source<'a>) -> Self {
        let threads = [Thread::read(first), Thread::read(second)];
        let calls = [calls(&threads[0]), calls(&threads[1])];
        let pairs = align(&calls[0], &calls[1]);
        let prompts = [prompt(&threads[0]), prompt(&threads[1])];
        Self { threads, calls, pairs, prompts }
    }

    fn sources(&self) -> [&'a Source<'a>; 2] {
        [self.threads[0].source, self.threads[1].source]
    }

    fn first(&self, pair: &Pair) -> Option<&Called> {
        pair.first.and_then(|place| self.calls[0].get(place))
    }

    fn second(&self, pair: &Pair) -> Option<&Called> {
        pair.second.and_then(|place| self.calls[1].get(place))
    }

    /// The place of the first row whose calls or results differ.
    fn first_difference(&self) -> Option<usize> {
        self.pairs.iter().position(|pair| !pair.is_same)
    }
}

/// The beginning of the conversation: the system prompt and the first user message.
fn prompt(thread: &Thread<'_>) -> String {
    let text = |kind: EventKind| match thread.source.reading.of_kind(kind).next()?.event() {
        Ok(Event::SystemPrompt(prompt)) => Some(prompt.text),
        Ok(Event::UserMessage(said)) => Some(said.text),
        _ => None,
    };
    let parts = [text(EventKind::SystemPrompt), text(EventKind::UserMessage)];
    parts.into_iter().flatten().map(|part| part + "\n").collect()
}

/// The page that asks which threads of a directive to compare.
pub(crate) fn choose(all: &[Listed], chosen: Option<&ThreadId>, project: &str) -> String {
    let directive = chosen.and_then(|chosen| all.iter().find(|row| row.thread == *chosen));
    let directive = directive.map(|row| row.directive.as_str());
    let body = html! {
        div.head { h1 { "Compare" } div.end { (form(all, directive, [chosen, None])) } }
        p.t2 { "Choose two threads. The page shows where their calls begin to differ." }
    };
    document("Compare", project, Links::Served, &body).into_string()
}

/// The page with both threads.
pub(crate) fn compare(
    first: &Source<'_>,
    second: &Source<'_>,
    all: &[Listed],
    project: &str,
) -> String {
    let compared = Compared::new(first, second);
    let [a, b] = compared.sources();
    let directive = (a.record.directive == b.record.directive).then_some(&*a.record.directive);
    let chosen = [Some(&a.record.thread), Some(&b.record.thread)];
    let body = html! {
        div.head {
            h1 { "Compare " @if let Some(directive) = directive { (Shown(directive)) } @else { "two directives" } }
            div.end { (form(all, directive, chosen)) }
        }
        div.cmptop {
            div { (first_difference(&compared)) (prompts(&compared)) }
            div { (figures_table(&compared)) }
        }
        (timelines(&compared))
        (aligned_calls(&compared))
        (authority(&compared))
    };
    document("Compare", project, Links::Served, &body).into_string()
}

/// The choice of two threads, by a form that works without a script.
fn form(all: &[Listed], directive: Option<&str>, chosen: [Option<&ThreadId>; 2]) -> Markup {
    let fits = |row: &&Listed| {
        directive.is_none_or(|directive| row.directive == directive)
            || chosen.contains(&Some(&row.thread))
    };
    let rows: Vec<&Listed> = all.iter().filter(fits).take(MOST_CHOICES).collect();
    html! {
        form.cform action="../compare/" {
            @for (place, name) in ["a", "b"].into_iter().enumerate() {
                label {
                    (name.to_uppercase()) " "
                    select name=(name) {
                        @if let Some(thread) = chosen[place].filter(|it| !rows.iter().any(|row| row.thread == **it)) {
                            option value=(thread) selected { (short_id(thread.as_str())) }
                        }
                        @for row in &rows {
                            option value=(row.thread) selected[chosen[place] == Some(&row.thread)] {
                                (short_id(row.thread.as_str())) ", " (short_time(row.created))
                                @if directive.is_none() { ", " (Shown(&row.directive)) }
                            }
                        }
                    }
                }
            }
            button.btn { "Compare" }
        }
    }
}

/// The most threads that the form offers.
const MOST_CHOICES: usize = 100;

fn first_difference(compared: &Compared<'_>) -> Markup {
    let Some(place) = compared.first_difference() else {
        return html! {
            section.firstd aria-labelledby="h-fd" {
                h2 #h-fd { "No difference" }
                p.t2 { "All " (count_noun(compared.pairs.len(), "call")) " have the same tool, arguments and result." }
            }
        };
    };
    let pair = compared.pairs.get(place).copied();
    let called = pair.map(|pair| [compared.first(&pair), compared.second(&pair)]);
    let called = called.unwrap_or_default();
    let turn = called.iter().flatten().map(|call| call.turn).min().unwrap_or(0);
    html! {
        section.firstd aria-labelledby="h-fd" {
            h2 #h-fd { "First difference: turn " (turn) }
            p.t2 {
                @match place {
                    0 => "The first calls differ already.",
                    _ => { (count_noun(place, "call")) " before it have the same tool, arguments and result." },
                }
                @if compared.prompts[0] != compared.prompts[1] { " The prompt differs before that." }
            }
            div {
                @for (name, call) in ["A", "B"].iter().zip(called) {
                    p { span.ab { (name) } @match call { Some(call) => (call_text(call)), None => { span.none { "no call" } } } }
                }
            }
        }
    }
}

fn call_text(call: &Called) -> Markup {
    html! {
        span.m { b { (Shown(&call.name)) } " " (Shown(&line(&call.argument, 120))) } " "
        span.cost { @if call.is_bad { span.er { "failed " } } @if let Some(took) = call.took { (duration(took)) } }
    }
}

fn prompts(compared: &Compared<'_>) -> Markup {
    let [first, second] = &compared.prompts;
    html! {
        section aria-labelledby="prompt" {
            h2.sec #prompt { "Prompt" }
            @if first == second { p.t2 { "Both models read the same prompt." } }
            @else { (diff::table(&unified_diff(["A", "B"], first, second))) }
        }
    }
}

fn aligned_calls(compared: &Compared<'_>) -> Markup {
    let same = compared.pairs.iter().filter(|pair| pair.is_same).count();
    let different = compared.pairs.len() - same;
    let is_cut = compared.calls.iter().any(|calls| calls.len() == MOST_CALLS);
    html! {
        section aria-labelledby="h-a" {
            h2.sec #h-a { "Calls, aligned " span.t3 { (same) " same, " (different) " different" } }
            @if is_cut { p.t2 { "Only the first " (MOST_CALLS) " calls of each thread are compared." } }
            @if compared.pairs.is_empty() { p.t2 { "Neither thread called a tool." } }
            @else {
                table.al {
                    caption.vh { "Calls of both threads, aligned" }
                    colgroup { col.t; col; col.x; col; }
                    thead { tr { th scope="col" { "Turn" } th scope="col" { span.ab { "A" } } th.x scope="col" { span.vh { "Same or different" } } th scope="col" { span.ab { "B" } } } }
                    tbody { @for pair in &compared.pairs { (pair_row(compared, pair)) } }
                }
            }
        }
    }
}

fn pair_row(compared: &Compared<'_>, pair: &Pair) -> Markup {
    let calls = [compared.first(pair), compared.second(pair)];
    let [a, b] = compared.sources();
    let turn =
        |call: Option<&Called>| call.map_or_else(|| "–".to_owned(), |call| call.turn.to_string());
    let turns = calls.map(turn);
    html! {
        tr class=(if pair.is_same { "eq" } else { "ne" }) {
            td.t3 { span.vh { "Turn " } @if turns[0] == turns[1] { (turns[0]) } @else { (turns[0]) " · " (turns[1]) } }
            td data-l="A" { (linked_call(a, calls[0])) }
            td.x { @if pair.is_same { "=" span.vh { "same" } } @else { "≠" span.vh { "different" } } }
            td data-l="B" { (linked_call(b, calls[1])) }
        }
    }
}

fn linked_call(source: &Source<'_>, call: Option<&Called>) -> Markup {
    html! {
        @match call {
            None => { span.none { "no call" } }
            Some(call) => { a href={ "../thread/" (source.record.thread) "?record=" (call.seq) "#r" (call.seq) } { (call_text(call)) } }
        }
    }
}

fn authority(compared: &Compared<'_>) -> Markup {
    let [first, second] = compared.sources().map(innermost);
    let rows = [
        ("In both", first.intersection(&second).collect::<Vec<_>>()),
        ("Only in A", first.difference(&second).collect()),
        ("Only in B", second.difference(&first).collect()),
    ];
    html! {
        section aria-labelledby="authority" {
            h2.sec #authority { "Authority" }
            div.cols3 {
                @for (title, patterns) in rows {
                    div {
                        h3.t3 { (title) }
                        @if patterns.is_empty() { p.t3 { "None" } }
                        @else { ul { @for pattern in patterns { li.m { (Shown(pattern)) } } } }
                    }
                }
            }
        }
    }
}

/// The patterns of the innermost layer: what the directive itself declares.
fn innermost<'a>(source: &'a Source<'a>) -> BTreeSet<&'a str> {
    source.patterns.last().into_iter().flatten().map(String::as_str).collect()
}
