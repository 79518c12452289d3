//! The conversation of a thread: a section for each turn, an entry for each record that a person wants to see.

use maud::{Markup, html};
use rye_transcript::payload::{
    Injected, RequestRetried, ThreadComplete, ThreadContinued, ThreadError, ThreadResumed,
    ThreadStart, Triggered,
};
use rye_transcript::{Event, EventKind, Record};
use rye_types::{HookEffect, Nanos};
use serde_json::{Value, json};

use super::call::{approval, call, children, refused_call};
use super::document::icon;
use super::figures::{bytes, count_noun, dollars, duration, offset, with_commas};
use super::links::Links;
use super::text::{Shown, block, fold_text, line, plain, prose};
use super::value::named_value;
use crate::model::{Entry, Found, Page, Section, Thread, is_bad};

/// The list of turns beside the conversation.
pub(crate) fn outline(thread: &Thread<'_>) -> Markup {
    html! {
        nav.out #outline aria-label="Turns" {
            h2.h2 { "Turns" }
            @match &thread.window {
                Some(window) if window.found.is_none() && window.pages.len() > 1 => {
                    @for (place, page) in window.pages.iter().enumerate() {
                        @if !window.shown.contains(&place) { (page_link(thread, page)) }
                        @else { (turn_links(thread, thread.sections.get(page.sections.clone()).unwrap_or_default())) }
                    }
                }
                _ => { (turn_links(thread, thread.shown_sections())) }
            }
        }
    }
}

/// The link to the turns of a page that is not shown.
fn page_link(thread: &Thread<'_>, page: &Page) -> Markup {
    let sections = thread.sections.get(page.sections.clone()).unwrap_or_default();
    let turns = || sections.iter().filter_map(|section| section.turn);
    let has_error = sections.iter().any(|section| section.has_error);
    html! {
        p.part {
            a href={ "?record=" (page.records.start) "#main" } {
                @match (turns().next(), turns().next_back()) {
                    (Some(first), Some(last)) if first < last => { "Turns " (first) " to " (last) }
                    (Some(only), _) => { "Turn " (only) }
                    (None, _) => { "Start" }
                }
            }
            @if has_error { " " span.er { (icon("error")) span.vh { "error" } } }
        }
    }
}

fn turn_links(thread: &Thread<'_>, sections: &[Section]) -> Markup {
    html! {
        ol {
            @for section in sections.iter().filter(|section| section.turn.is_some()) {
                li {
                    a href={ "#" (anchor(thread, section)) } {
                        span.n.t3 { (section.turn.unwrap_or(0)) }
                        span.c { (Shown(&outline_title(section))) }
                        span.mk { (marks(section)) }
                    }
                }
            }
        }
    }
}

fn outline_title(section: &Section) -> String {
    let title = section.title();
    match title.is_empty() {
        true if section.piece > 0 => "continued".to_owned(),
        true => "answer".to_owned(),
        false => title,
    }
}

fn marks(section: &Section) -> Markup {
    html! {
        @if section.has_error { span.er { (icon("error")) span.vh { "error" } } }
        @if section.has_approval {
            span class=(if section.is_waiting { "wa" } else { "t3" }) {
                (icon("suspended")) span.vh { (if section.is_waiting { "waits" } else { "approval" }) }
            }
        }
    }
}

/// The conversation with its search field.
pub(crate) fn conversation(thread: &Thread<'_>, links: Links) -> Markup {
    html! {
        section.conv aria-label=(thread.label("Conversation")) {
            (find(thread, links))
            (parts(thread, &PARTS))
            div id={ (thread.prefix) "conversation" } {
                @for section in thread.shown_sections() { (turn(thread, section, links)) }
            }
            (parts(thread, &PARTS_BELOW))
            (foot(thread))
        }
    }
}

/// A place for the links between the parts of a conversation.
#[derive(Debug)]
pub(crate) struct PartsPlace {
    pub(crate) id: &'static str,
    label: &'static str,
}

pub(crate) const PARTS: PartsPlace = PartsPlace { id: "parts", label: "Parts of the conversation" };

pub(crate) const PARTS_BELOW: PartsPlace =
    PartsPlace { id: "parts-below", label: "Parts of the conversation, below it" };

/// The part of a long thread that the page shows, with links to the others.
pub(crate) fn parts(thread: &Thread<'_>, place: &PartsPlace) -> Markup {
    let Some(window) = &thread.window else { return html! {} };
    let start = |place: usize| window.pages.get(place).map_or(0, |page| page.records.start);
    let shown = &window.shown;
    let last = window.pages.len().saturating_sub(1);
    let end = window.pages.get(shown.end.saturating_sub(1)).map_or(0, |page| page.records.end);
    html! {
        @if let Some(found) = &window.found { (found_parts(found, place)) }
        @else {
            nav.pages.parts id=(place.id) aria-label=(place.label) hidden[shown.len() == window.pages.len()] {
                span { "Records " (start(shown.start)) " to " (end.saturating_sub(1)) " of " (count_noun(thread.records().len(), "record")) }
                @if let Some(before) = shown.start.checked_sub(1) {
                    a href="?record=0#main" { "First" }
                    a href={ "?record=" (start(before)) "#main" } rel="prev" { "Earlier" }
                }
                @if shown.end <= last {
                    a href={ "?record=" (start(shown.end)) "#main" } rel="next" { "Later" }
                    a href={ "?record=" (start(last)) "#main" } { "Last" }
                }
            }
        }
    }
}

/// The number of entries that a search found.
fn found_parts(found: &Found, place: &PartsPlace) -> Markup {
    html! {
        nav.pages.parts id=(place.id) aria-label=(place.label) {
            span {
                (with_commas(u64::try_from(found.count).unwrap_or(u64::MAX))) (if found.count == 1 { " entry" } else { " entries" }) " with " strong { (Shown(&line(&found.text, 60))) }
                @if found.is_cut() { "; the first ones are shown" }
            }
            a href="?" { "Whole conversation" }
        }
    }
}

/// The number of records and the state, with the keys that the script knows.
pub(crate) fn foot(thread: &Thread<'_>) -> Markup {
    html! {
        p.foot id={ (thread.prefix) "foot" } {
            (count_noun(thread.records().len(), "record")) ", state " (thread.source.standing) ". "
            span.keys hidden { kbd { "j" } " " kbd { "k" } " record, " kbd { "n" } " " kbd { "p" } " turn, " kbd { "e" } " error, " kbd { "/" } " search, " kbd { "o" } " fold, " kbd { "O" } " fold all" }
        }
    }
}

/// The search of a file needs the script. A server searches without one, and in the parts that the page does not show.
fn find(thread: &Thread<'_>, links: Links) -> Markup {
    let found = thread.window.as_ref().and_then(|window| window.found.as_ref());
    html! {
        form.find role=[thread.prefix.is_empty().then_some("search")] action=[(links == Links::Served).then_some("?")] {
            @if thread.prefix.is_empty() {
                input #find type="search" name="find" value=[found.map(|found| plain(&found.text))] placeholder="Search in this thread" aria-label="Search in this thread" hidden[links != Links::Served];
                span.t3 #found role="status" data-records=(thread.records().len()) { (count_noun(thread.records().len(), "record")) }
            } @else { span.t3 { (count_noun(thread.records().len(), "record")) } }
            @if let Some(first) = thread.errors.first() { a href=(thread.record_address(*first)) { (count_noun(thread.errors.len(), "error")) } }
            @if let Some(first) = thread.approvals.first() { a href=(thread.record_address(*first)) { (count_noun(thread.approvals.len(), "approval")) } }
        }
    }
}

pub(crate) fn anchor(thread: &Thread<'_>, section: &Section) -> String {
    let name = section.turn.map_or_else(|| "start".to_owned(), |turn| format!("t{turn}"));
    let piece = if section.piece == 0 { String::new() } else { format!("-{}", section.piece) };
    format!("{}{name}{piece}", thread.prefix)
}

pub(crate) fn turn(thread: &Thread<'_>, section: &Section, links: Links) -> Markup {
    let anchor = anchor(thread, section);
    html! {
        section.turn id=(anchor) aria-labelledby={ "h-" (anchor) } {
            header.turnh {
                h3 id={ "h-" (anchor) } { @match section.turn { Some(turn) => { "Turn " (turn) } None => { "Start" } } @if section.piece > 0 { ", continued" } }
                span { (Shown(&section.title())) }
                @if section.turn.is_some() && section.piece == 0 { (figures(thread, section)) }
            }
            @for entry in &section.entries { (article(thread, entry, links)) }
        }
    }
}

fn figures(thread: &Thread<'_>, section: &Section) -> Markup {
    let time = thread.clock.active(section.end).saturating_sub(thread.clock.active(section.start));
    let usage = &section.usage;
    let input = usage.total() - usage.output;
    html! {
        span.end {
            span { (duration(time)) }
            @if usage.total() > 0 {
                span title={ (with_commas(usage.input)) " uncached, " (with_commas(usage.cache_read)) " cached, " (with_commas(usage.cache_write)) " written to the cache" } {
                    (with_commas(input)) " in · " (with_commas(usage.output)) " out"
                }
            }
            @if section.cost > Nanos::ZERO { span { (dollars(section.cost)) } }
        }
    }
}

/// One entry: its number, its kind, its content and its time.
fn article(thread: &Thread<'_>, entry: &Entry, links: Links) -> Markup {
    let Some(record) = thread.record(entry.index) else { return html! {} };
    let event = record.event().ok();
    let result = entry.result.and_then(|index| thread.record(index));
    let answer = result.and_then(|result| result.event().ok());
    let is_open = thread.pending.as_ref().is_some_and(|it| it.seq == record.seq);
    let (kind, class) = kind(record.kind, event.as_ref(), answer.as_ref(), is_open);
    html! {
        article class={ "rec " (class) } id=(thread.record_id(record.seq)) aria-label={ "Record " (record.seq) ", " (kind) } {
            a.no href=(thread.panel_address(record.seq)) title={ "Line, hash and checkpoint of record " (record.seq) } { (record.seq) }
            span.kd { (kind) }
            div.bd {
                @match &event {
                    Some(Event::ToolCallStart(intent)) => { (call(thread, record, intent, result, answer.as_ref())) (children(thread, &entry.children, links)) }
                    Some(Event::ToolCallResult(receipt)) => { (refused_call(receipt)) }
                    Some(Event::ApprovalRequested(asked)) => { (approval(thread, record, asked, result, answer.as_ref(), is_open)) }
                    Some(Event::SpawnChild(_)) => { (children(thread, &[entry.index], links)) }
                    _ => { (body(record, event.as_ref(), links)) }
                }
            }
            time { (offset(thread.active_at(record))) }
        }
    }
}

/// The word for an entry, and its class.
fn kind(
    kind: EventKind,
    event: Option<&Event>,
    answer: Option<&Event>,
    is_open: bool,
) -> (&'static str, &'static str) {
    match kind {
        EventKind::SystemPrompt => ("system", ""),
        EventKind::UserMessage => ("user", ""),
        EventKind::ContextInjected => ("context", ""),
        EventKind::AssistantText => ("model", ""),
        EventKind::AssistantReasoning => ("reasoning", ""),
        EventKind::ToolCallStart => match (event, answer) {
            (Some(Event::ToolCallStart(call)), _) if call.hook.is_some() => ("hook", ""),
            (_, Some(Event::ToolCallResult(receipt))) if is_bad(receipt) => ("error", "bad"),
            _ => ("call", ""),
        },
        EventKind::ToolCallResult => ("error", "bad"),
        EventKind::ApprovalRequested => ("approval", if is_open { "ask" } else { "" }),
        EventKind::SpawnChild => ("child", ""),
        EventKind::RequestRetried => ("retry", "bad"),
        EventKind::RequestFailed | EventKind::ThreadError => ("error", "bad"),
        EventKind::HookTriggered => ("hook", ""),
        EventKind::ModelFallback => ("fallback", ""),
        EventKind::ThreadStart => ("start", ""),
        EventKind::ThreadResumed => ("resumed", ""),
        EventKind::ThreadComplete => ("end", ""),
        EventKind::ThreadContinued => ("continued", ""),
        EventKind::ApprovalDecided => ("decision", ""),
        _ => ("other", ""),
    }
}

/// The content of an entry. A payload that this version does not read, or has no form for, is shown as it is.
fn body(record: &Record, event: Option<&Event>, links: Links) -> Markup {
    match event {
        Some(Event::SystemPrompt(it)) => prompt("System prompt", &it.text, Some(&it.sha256)),
        Some(Event::UserMessage(said)) => prompt(&first_line(&said.text), &said.text, None),
        Some(Event::AssistantText(said)) => prose(&said.text),
        Some(Event::AssistantReasoning(said)) => fold_text(&said.text),
        Some(Event::ThreadStart(it)) => start(it),
        Some(Event::ContextInjected(injected)) => context(injected),
        Some(Event::RequestRetried(retried)) => retry_body(retried),
        Some(Event::RequestFailed(failed)) => {
            html! { p { span.er { (Shown(&words(&failed.class))) } " " (Shown(&failed.message)) (charge_note(failed.cost)) } }
        }
        Some(Event::HookTriggered(triggered)) => hook(triggered),
        Some(Event::ModelFallback(fallback)) => {
            html! { p { span.m { (Shown(&fallback.model)) } " answers from here. " span.t3 { (Shown(&fallback.reason)) } } }
        }
        Some(Event::ThreadResumed(resumed)) => resume_body(resumed),
        Some(Event::ThreadComplete(end)) => complete(end),
        Some(Event::ThreadError(end)) => end_body(end),
        Some(Event::ThreadContinued(end)) => continuation_body(end, links),
        _ => {
            let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
            named_value(record.name(), &payload, false)
        }
    }
}

fn first_line(text: &str) -> String {
    line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(), 80)
}

/// A text that the model was sent. A short one is shown, a long one folded.
fn prompt(title: &str, text: &str, digest: Option<&str>) -> Markup {
    html! {
        details open[text.len() < 600] {
            summary {
                (Shown(title)) " "
                span.t3 { (count_noun(text.chars().count(), "character")) @if let Some(digest) = digest { ", sha256 " (Shown(digest.get(..8).unwrap_or_default())) } }
            }
            (block(text))
        }
    }
}

fn start(start: &ThreadStart) -> Markup {
    html! {
        details {
            summary {
                span.m { (Shown(&start.model)) } " at " (Shown(&start.provider))
                ", " (count_noun(start.tools.len(), "tool"))
            }
            @for tool in &start.tools {
                (named_value(&tool.name, &json!(tool), false))
            }
            (named_value("limits", &json!(start.limits), false))
        }
    }
}

fn context(injected: &Injected) -> Markup {
    html! {
        p {
            span.m { (Shown(injected.item_id.as_deref().unwrap_or("inline text"))) } " "
            span.t3 {
                "in " (Shown(&injected.position))
                @if let Some(hook) = &injected.hook { ", by hook " (Shown(hook)) }
                ", sha256 " (Shown(injected.sha256.get(..8).unwrap_or_default()))
            }
        }
    }
}

fn words(class: &str) -> String {
    class.replace('_', " ")
}

fn retry_body(retried: &RequestRetried) -> Markup {
    let wait = u64::try_from(retried.wait.as_millis()).unwrap_or(u64::MAX);
    html! {
        p {
            span.er { (Shown(&words(&retried.class.to_string()))) } " on attempt " (retried.attempt.saturating_sub(1).max(1)) " of " (retried.attempts)
            "; the next one after " (duration(wait)) ". "
            span.t3 { (Shown(&line(&retried.message, 300))) (charge_note(retried.cost)) }
        }
    }
}

/// The cost of an attempt without an answer, where it has one.
fn charge_note(cost: Nanos) -> Markup {
    html! { @if cost > Nanos::ZERO { " " span.t3 { (dollars(cost)) " counts as spent." } } }
}

fn hook(triggered: &Triggered) -> Markup {
    html! {
        p {
            span.m { (Shown(&triggered.hook)) } " "
            span.t3 {
                (Shown(triggered.event.as_str())) ", declared by " (Shown(&triggered.declared_by))
                ": " (Shown(triggered.effect.map_or("no effect", HookEffect::as_str)))
            }
        }
    }
}

fn resume_body(resumed: &ThreadResumed) -> Markup {
    let elapsed = u64::try_from(resumed.elapsed.as_millis()).unwrap_or(u64::MAX);
    html! {
        p {
            "Opening " (resumed.opening) ", after " (duration(elapsed))
            @if resumed.limits.is_some() { ", with raised limits" }
            @if resumed.cut_bytes > 0 { ". " (bytes(usize::try_from(resumed.cut_bytes).unwrap_or(usize::MAX))) " of half a record were removed" }
            "."
        }
    }
}

fn complete(end: &ThreadComplete) -> Markup {
    html! {
        p { (icon("completed")) " Completed after " (counted_turns(end.turns)) "." }
        @for (name, value) in end.outputs.iter().flatten() { (named_value(name, value, true)) }
    }
}

fn end_body(end: &ThreadError) -> Markup {
    let message = end.failure.as_ref().map_or("", |failure| &failure.message);
    html! {
        p { span.er { (Shown(end.state.as_str())) } " after " (counted_turns(end.turns)) ". " (Shown(message)) }
    }
}

fn continuation_body(end: &ThreadContinued, links: Links) -> Markup {
    html! {
        p {
            "The conversation continues in " (super::summary::thread_link(&end.next, end.next.as_str(), links)) "."
        }
    }
}

fn counted_turns(turns: u64) -> String {
    count_noun(usize::try_from(turns).unwrap_or(usize::MAX), "turn")
}
