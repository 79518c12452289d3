//! The head of a thread's page.

use maud::{Markup, html};
use rye_transcript::ThreadId;
use serde_json::Value;

use super::chain::verification;
use super::document::icon;
use super::figures::{day_and_time, key, short_id};
use super::limits::limits;
use super::links::Links;
use super::text::{Shown, line};
use super::value::in_short;
use crate::model::{SpanKind, Thread};

/// The title, the state and the id.
pub(crate) fn head(thread: &Thread<'_>, links: Links) -> Markup {
    let record = thread.source.record;
    html! {
        div.head {
            h1 { (Shown(&record.directive)) }
            (state(thread.source.standing))
            span.m.t2 { (Shown(record.thread.as_str())) }
            @if links == Links::Served {
                div.end {
                    a href={ "../authority/" (record.thread) } { "Authority" }
                    a href={ "../compare/?a=" (record.thread) } { "Compare" }
                }
            }
        }
    }
}

/// A state as a symbol and a word.
pub(crate) fn state(standing: &str) -> Markup {
    let (class, symbol) = match standing {
        "completed" | "continued" | "cancelled" | "running" | "suspended" | "error" => {
            (standing, standing)
        }
        "created" => ("running", "running"),
        _ => ("cancelled", "suspended"),
    };
    let mut letters = standing.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    html! {
        span class={ "st " (class) } { (icon(symbol)) span.w { @if let Some(first) = first { (first) } (letters.as_str()) } }
    }
}

/// The bands below the title: a call that waits, a failure, and the three columns.
pub(crate) fn summary(thread: &Thread<'_>, links: Links) -> Markup {
    html! {
        (waiting(thread))
        (failure(thread))
        (unsigned_notice(thread))
        div.sum {
            (facts(thread, links))
            (limits(thread))
            (verification(thread))
        }
    }
}

fn waiting(thread: &Thread<'_>) -> Markup {
    html! {
        @if let Some(pending) = &thread.pending {
            div.bannerbar role="status" {
                span { (icon("suspended")) " " strong { "1 call waits for approval" } }
                span.m { (Shown(&pending.request.item_id)) " " (Shown(&in_short(&pending.request.arguments))) }
                a href=(thread.record_address(pending.seq)) { "Review the call" }
            }
        }
    }
}

fn failure(thread: &Thread<'_>) -> Markup {
    html! {
        @if let Some(failure) = &thread.source.record.failure {
            div.bannerbar.stop role="status" {
                span.er { (icon("error")) " " strong { (failure.kind.as_str().replace('_', " ")) } }
                span { (Shown(&line(&failure.message, 400))) }
            }
        }
    }
}

fn unsigned_notice(thread: &Thread<'_>) -> Markup {
    html! {
        @if thread.source.record.used_unsigned() {
            div.bannerbar role="status" {
                span { (icon("suspended")) " " strong { "Unverified items" } }
                span { "The thread used items that have no signature." }
            }
        }
    }
}

fn facts(thread: &Thread<'_>, links: Links) -> Markup {
    let record = thread.source.record;
    let leaf = record.facts.get("chain").and_then(|chain| chain.get(0));
    let text = |name: &str| leaf.and_then(|leaf| leaf.get(name)).and_then(Value::as_str);
    html! {
        section aria-labelledby={ (thread.prefix) "h-r" } {
            h2 id={ (thread.prefix) "h-r" } { "Thread" }
            dl.kv {
                dt { "Directive" }
                dd { (Shown(&record.directive)) @if let Some(digest) = text("content_sha256") { " " span.t3.m { (Shown(digest.get(..8).unwrap_or_default())) } } }
                dt { "Signed by" }
                dd { @match text("key_id") { Some(id) => { span.m { (Shown(&key(id))) } @if let Some(owner) = text("owner") { ", " (Shown(owner)) } } None => { (origin(text("space"))) } } }
                @if let (Some(model), Some(provider)) = (&record.model, &record.provider) { dt { "Model" } dd { (Shown(model)) " at " (Shown(provider)) } }
                dt { "Started" } dd { time datetime=(record.created) { (day_and_time(record.created)) } }
                @if let Some(inputs) = record.facts.get("inputs").and_then(Value::as_object).filter(|it| !it.is_empty()) {
                    dt { "Inputs" }
                    dd { @for (name, value) in inputs { div.m { (Shown(name)) " = " (Shown(&in_short(value))) } } }
                }
                (tree(thread, links))
            }
        }
    }
}

fn origin(space: Option<&str>) -> &'static str {
    match space {
        Some("builtin") => "shipped with Rye",
        Some(_) => "no signature",
        None => "not known: the thread failed before its directive was read",
    }
}

fn tree(thread: &Thread<'_>, links: Links) -> Markup {
    let record = thread.source.record;
    let spawns = thread.spans.iter().filter(|span| span.kind == SpanKind::Child);
    let related = [
        ("Parent", &record.parent),
        ("Continues", &record.continues),
        ("Continued by", &record.continued_by),
    ];
    html! {
        @for (name, other) in related {
            @if let Some(other) = other { dt { (name) } dd { (thread_link(other, other.as_str(), links)) } }
        }
        @if spawns.clone().next().is_some() {
            dt { "Children" }
            dd {
                @for (place, span) in spawns.take(MOST_CHILDREN).enumerate() {
                    @if place > 0 { ", " }
                    a href=(thread.record_address(span.seq)) { (Shown(&span.label)) @if let Some(spawn) = thread.spawn(span.seq) { " " (Shown(&short_id(spawn.child.as_str()))) } }
                }
            }
        }
    }
}

/// The most children that the summary names.
const MOST_CHILDREN: usize = 8;

/// The name of another thread, as a link where the page leads to it.
pub(crate) fn thread_link(thread: &ThreadId, text: &str, links: Links) -> Markup {
    html! {
        @match links.thread(thread) {
            Some(address) => { a href=(address) { (Shown(text)) } }
            None => { span.m { (Shown(text)) } }
        }
    }
}
