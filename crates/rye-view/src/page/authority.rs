//! The page about what a thread was allowed, what of it was used, and what was refused.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_transcript::{DIRECTIVE_RETURN, EventKind, Refusal};

use super::document::document;
use super::figures::{count_noun, short_id};
use super::links::Links;
use super::text::{Shown, block, line};
use crate::Source;
use crate::model::Thread;

/// The calls of a thread by what they needed.
#[derive(Default)]
struct Calls {
    /// The capabilities of calls that were carried out, each with its records.
    granted: BTreeMap<String, Vec<u64>>,
    refused: Vec<Refused>,
}

/// A call whose result was not read yet.
struct Begun {
    seq: u64,
    capability: String,
}

struct Refused {
    seq: u64,
    refusal: Refusal,
}

impl Calls {
    fn read(thread: &Thread<'_>) -> Self {
        let mut calls = Self::default();
        // A call begins with its record, and only its result says that it was refused.
        let mut begun: BTreeMap<String, Begun> = BTreeMap::new();
        for record in thread.records() {
            match record.kind {
                EventKind::ToolCallStart => {
                    let Ok(call) = record.intent() else { continue };
                    if let Some(target) = call.target {
                        let next = Begun { seq: record.seq, capability: target.capability };
                        calls.grant(begun.insert(call.call_id, next));
                    }
                }
                EventKind::ToolCallResult => {
                    let Ok(receipt) = record.receipt() else { continue };
                    let begun = begun.remove(&receipt.call_id);
                    match receipt.refusal {
                        None => calls.grant(begun),
                        Some(refusal) => calls.refused.push(Refused { seq: record.seq, refusal }),
                    }
                }
                _ => {}
            }
        }
        // A call without a result may have been carried out.
        begun.into_values().for_each(|call| calls.grant(Some(call)));
        calls.granted.values_mut().for_each(|records| records.sort_unstable());
        calls
    }

    fn grant(&mut self, call: Option<Begun>) {
        if let Some(Begun { seq, capability }) = call {
            self.granted.entry(capability).or_default().push(seq);
        }
    }

    /// Returns `true` if a call that was carried out needed what the pattern covers.
    fn use_pattern(&self, pattern: &str) -> bool {
        let Ok(pattern) = pattern.parse::<Pattern>() else { return false };
        let mut used = self.granted.keys().filter_map(|it| it.parse::<Capability>().ok());
        used.any(|capability| pattern.matches(&capability))
    }
}

/// The page. `tightened` is the smallest block of permissions that would do, or the reason why it is not known.
pub(crate) fn authority(
    source: &Source<'_>,
    tightened: &Result<String, String>,
    project: &str,
) -> String {
    let thread = Thread::read(source);
    let calls = Calls::read(&thread);
    let id = &source.record.thread;
    let title = format!("Authority of {} {}", source.record.directive, short_id(id.as_str()));
    let body = html! {
        div.head {
            h1 { "Authority of " (Shown(&source.record.directive)) }
            a.m href={ "../thread/" (id) } { (Shown(id.as_str())) }
        }
        div.spec {
            (layers(source, &calls))
            (grants_section(&calls, id.as_str()))
            (refusals_section(&calls, id.as_str()))
            (suggestion(tightened))
        }
    };
    document(&title, project, Links::Served, &body).into_string()
}

fn layers(source: &Source<'_>, calls: &Calls) -> Markup {
    let last = source.patterns.len().saturating_sub(1);
    html! {
        section aria-labelledby="h-l" {
            h2 #h-l { "Layers" }
            p.t2 { "A call needs a pattern in each layer. They are those of the thread's token, outermost first." }
            @if source.patterns.is_empty() { p { "The thread has no token: nothing was allowed." } }
            @for (place, patterns) in source.patterns.iter().enumerate() {
                h3.t3 { @if place == last { "Layer " (place + 1) ", declared by the directive" } @else { "Layer " (place + 1) } }
                @if patterns.is_empty() { p.t2 { "Nothing is allowed." } }
                table {
                    caption.vh { "Patterns of layer " (place + 1) }
                    tbody {
                        @for pattern in patterns {
                            tr {
                                td.m { (Shown(pattern)) }
                                td.n { (usage(calls, pattern, place == last)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The words for a pattern's use. Declared outputs bring one along that no call of a tool uses.
fn usage(calls: &Calls, pattern: &str, is_declared: bool) -> Markup {
    let returns = Capability::new(Primary::Execute, Kind::Tool, DIRECTIVE_RETURN);
    let is_return = returns.is_ok_and(|returns| returns.as_str() == pattern);
    html! {
        @if calls.use_pattern(pattern) { "used" }
        @else if is_return { span.t3 { "for the outputs" } }
        @else if is_declared { span.wa { "never used" } }
        @else { span.t3 { "not used" } }
    }
}

/// The most records that a row leads to.
const MOST_LINKS: usize = 5;

fn grants_section(calls: &Calls, thread: &str) -> Markup {
    html! {
        section aria-labelledby="h-g" {
            h2 #h-g { "Granted" }
            @if calls.granted.is_empty() { p.t2 { "No call was carried out." } }
            @else {
                table {
                    caption.vh { "Capabilities of the calls that were carried out" }
                    thead { tr { th scope="col" { "Capability" } th.n scope="col" { "Calls" } th.n scope="col" { "Records" } } }
                    tbody {
                        @for (capability, records) in &calls.granted {
                            tr {
                                td.m { (Shown(capability)) }
                                td.n { (records.len()) }
                                td.n { @for seq in records.iter().take(MOST_LINKS) { a href={ "../thread/" (thread) "?record=" (seq) "#r" (seq) } { (seq) } " " } @if records.len() > MOST_LINKS { "…" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn refusals_section(calls: &Calls, thread: &str) -> Markup {
    html! {
        section aria-labelledby="h-d" {
            h2 #h-d { "Refused " span.t3 { (count_noun(calls.refused.len(), "call")) } }
            @if calls.refused.is_empty() { p.t2 { "No call was refused." } }
            @for Refused { seq, refusal } in &calls.refused {
                p {
                    a href={ "../thread/" (thread) "?record=" (seq) "#r" (seq) } { "record " (seq) } " "
                    span.m { (Shown(&refusal.capability)) }
                    @if !refusal.layer.is_empty() { span.t3 { " by " (Shown(&refusal.layer)) } }
                }
                p.er { (Shown(&line(&refusal.message, 400))) }
            }
        }
    }
}

fn suggestion(tightened: &Result<String, String>) -> Markup {
    html! {
        section aria-labelledby="h-s" {
            h2 #h-s { "The least that would do" }
            @match tightened {
                Ok(permissions) => {
                    p.t2 { "By this thread and the structured steps of the directive as it is now, as " code { "rye caps tighten" } " prints it." }
                    (block(permissions))
                }
                Err(reason) => { p.t2 { (Shown(reason)) } }
            }
        }
    }
}
