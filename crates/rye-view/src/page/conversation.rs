//! The conversation of a thread: a section for each turn, an entry for each record that a person wants to see.

use maud::{Markup, html};
use rye_transcript::Record;
use rye_types::Nanos;
use serde_json::Value;

use super::call::{approval, call, children};
use super::document::icon;
use super::figures::{bytes, count_noun, dollars, duration, offset, with_commas};
use super::links::Links;
use super::text::{Shown, block, fold_text, line, plain, prose};
use super::value::named_value;
use crate::model::{Entry, Found, Page, Section, Thread, payload};

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
    let content = payload(record);
    let result = entry.result.and_then(|index| thread.record(index));
    let is_open = thread.pending.as_ref().is_some_and(|it| it.seq == record.seq);
    let (kind, class) = kind(record, &content, result, is_open);
    html! {
        article class={ "rec " (class) } id=(thread.record_id(record.seq)) aria-label={ "Record " (record.seq) ", " (kind) } {
            a.no href=(thread.panel_address(record.seq)) title={ "Line, hash and checkpoint of record " (record.seq) } { (record.seq) }
            span.kd { (kind) }
            div.bd {
                @match record.event.as_str() {
                    "tool_call_start" => { (call(thread, record, &content, result, &entry.children, links)) }
                    "tool_call_result" => { (call(thread, record, &content, Some(record), &[], links)) }
                    "approval_requested" => { (approval(thread, record, &content, result, is_open)) }
                    "spawn_child" => { (children(thread, &[entry.index], links)) }
                    _ => { (body(record, &content, links)) }
                }
            }
            time { (offset(thread.active_at(record))) }
        }
    }
}

/// The word for an entry, and its class.
fn kind(
    record: &Record,
    content: &Value,
    result: Option<&Record>,
    is_open: bool,
) -> (&'static str, &'static str) {
    let is_bad = |content: &Value| content["is_error"] == true || !content["refusal"].is_null();
    match record.event.as_str() {
        "system_prompt" => ("system", ""),
        "user_message" => ("user", ""),
        "context_injected" => ("context", ""),
        "assistant_text" => ("model", ""),
        "assistant_reasoning" => ("reasoning", ""),
        "tool_call_start" if !content["hook"].is_null() => ("hook", ""),
        "tool_call_start" if result.is_some_and(|it| is_bad(&payload(it))) => ("error", "bad"),
        "tool_call_start" => ("call", ""),
        "tool_call_result" => ("error", "bad"),
        "approval_requested" => ("approval", if is_open { "ask" } else { "" }),
        "spawn_child" => ("child", ""),
        "request_retried" => ("retry", "bad"),
        "request_failed" | "thread_error" => ("error", "bad"),
        "hook_triggered" => ("hook", ""),
        "model_fallback" => ("fallback", ""),
        "thread_start" => ("start", ""),
        "thread_resumed" => ("resumed", ""),
        "thread_complete" => ("end", ""),
        "thread_continued" => ("continued", ""),
        "approval_decided" => ("decision", ""),
        _ => ("other", ""),
    }
}

fn body(record: &Record, content: &Value, links: Links) -> Markup {
    let text = || content["text"].as_str().unwrap_or_default();
    match record.event.as_str() {
        "system_prompt" => prompt("System prompt", text(), content["sha256"].as_str()),
        "user_message" => prompt(&first_line(text()), text(), None),
        "assistant_text" => prose(text()),
        "assistant_reasoning" => fold_text(text()),
        "thread_start" => start(content),
        "context_injected" => context(content),
        "request_retried" => retry_body(content),
        "request_failed" => {
            html! { p { span.er { (Shown(&class(content))) } " " (Shown(message(content))) (charge_note(content)) } }
        }
        "hook_triggered" => hook(content),
        "model_fallback" => {
            html! { p { span.m { (Shown(content["model"].as_str().unwrap_or_default())) } " answers from here. " span.t3 { (Shown(content["reason"].as_str().unwrap_or_default())) } } }
        }
        "thread_resumed" => resume_body(content),
        "thread_complete" => complete(content),
        "thread_error" => end_body(content),
        "thread_continued" => continuation_body(content, links),
        _ => named_value(&record.event, content, false),
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

fn start(content: &Value) -> Markup {
    let tools = content["tools"].as_array();
    let count = tools.map_or(0, Vec::len);
    html! {
        details {
            summary {
                span.m { (Shown(content["model"].as_str().unwrap_or_default())) } " at " (Shown(content["provider"].as_str().unwrap_or_default()))
                ", " (count_noun(count, "tool"))
            }
            @for tool in tools.into_iter().flatten() {
                (named_value(tool["name"].as_str().unwrap_or_default(), tool, false))
            }
            (named_value("limits", &content["limits"], false))
        }
    }
}

fn context(content: &Value) -> Markup {
    html! {
        p {
            span.m { (Shown(content["item_id"].as_str().unwrap_or("inline text"))) } " "
            span.t3 {
                "in " (Shown(content["position"].as_str().unwrap_or_default()))
                @if let Some(hook) = content["hook"].as_str() { ", by hook " (Shown(hook)) }
                ", sha256 " (Shown(content["sha256"].as_str().and_then(|it| it.get(..8)).unwrap_or_default()))
            }
        }
    }
}

fn class(content: &Value) -> String {
    content["class"].as_str().unwrap_or("failed").replace('_', " ")
}

fn message(content: &Value) -> &str {
    content["message"].as_str().unwrap_or_default()
}

fn retry_body(content: &Value) -> Markup {
    let number = |name: &str| content[name].as_u64().unwrap_or(0);
    html! {
        p {
            span.er { (Shown(&class(content))) } " on attempt " (number("attempt").saturating_sub(1).max(1)) " of " (number("attempts"))
            "; the next one after " (duration(number("wait_millis"))) ". "
            span.t3 { (Shown(&line(message(content), 300))) (charge_note(content)) }
        }
    }
}

/// The cost of an attempt without an answer, where it has one.
fn charge_note(content: &Value) -> Markup {
    let cost = Nanos::new(content["cost_nanos"].as_u64().unwrap_or(0));
    html! { @if cost > Nanos::ZERO { " " span.t3 { (dollars(cost)) " counts as spent." } } }
}

fn hook(content: &Value) -> Markup {
    html! {
        p {
            span.m { (Shown(content["hook"].as_str().unwrap_or_default())) } " "
            span.t3 {
                (Shown(content["hook_event"].as_str().unwrap_or_default())) ", declared by " (Shown(content["declared_by"].as_str().unwrap_or_default()))
                ": " (Shown(content["effect"].as_str().unwrap_or("no effect")))
            }
        }
    }
}

fn resume_body(content: &Value) -> Markup {
    html! {
        p {
            "Opening " (content["opening"].as_u64().unwrap_or(0)) ", after " (duration(content["elapsed_millis"].as_u64().unwrap_or(0)))
            @if !content["limits"].is_null() { ", with raised limits" }
            @if let Some(cut) = content["cut_bytes"].as_u64().filter(|cut| *cut > 0) { ". " (bytes(usize::try_from(cut).unwrap_or(usize::MAX))) " of half a record were removed" }
            "."
        }
    }
}

fn complete(content: &Value) -> Markup {
    let outputs = content["outputs"].as_object();
    html! {
        p { (icon("completed")) " Completed after " (counted_turns(content)) "." }
        @for (name, value) in outputs.into_iter().flatten() { (named_value(name, value, true)) }
    }
}

fn end_body(content: &Value) -> Markup {
    html! {
        p { span.er { (Shown(content["state"].as_str().unwrap_or_default())) } " after " (counted_turns(content)) ". " (Shown(content["failure"]["message"].as_str().unwrap_or_default())) }
    }
}

fn continuation_body(content: &Value, links: Links) -> Markup {
    let next = content["next"].as_str().unwrap_or_default();
    html! {
        p {
            "The conversation continues in "
            @match next.parse() { Ok(thread) => { (super::summary::thread_link(&thread, next, links)) } Err(_) => { (Shown(next)) } }
            "."
        }
    }
}

fn counted_turns(content: &Value) -> String {
    count_noun(
        usize::try_from(content["turns"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX),
        "turn",
    )
}
