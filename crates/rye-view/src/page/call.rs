//! Calls of tools, their results, the children that they start, and the decisions on them.

use maud::{Markup, html};
use rye_transcript::{Record, ThreadId};
use rye_types::Nanos;
use serde_json::{Map, Value};

use super::diff;
use super::document::icon;
use super::figures::{dollars, duration, hex_groups, short_id};
use super::links::Links;
use super::text::{Shown, block, line};
use super::value::{is_shown_whole, named_value};
use crate::model::{Thread, item_name, item_of_call, main_argument, payload};

/// A call with what came of it.
pub(crate) fn call(
    thread: &Thread<'_>,
    record: &Record,
    content: &Value,
    result: Option<&Record>,
    spawned: &[usize],
    links: Links,
) -> Markup {
    let answer = result.map(payload).unwrap_or_default();
    let arguments = &content["arguments"];
    html! {
        div.call {
            b { (Shown(&name(content))) }
            (in_a_line(arguments, &answer))
            span.w { (outcome(thread, record, result, &answer)) }
        }
        @if let Some(hook) = content["hook"].as_str() { p.t3 { "by hook " span.m { (Shown(hook)) } } }
        (arguments_block(arguments, &answer))
        @if !answer.is_null() { (result_block(&answer)) }
        (children(thread, spawned, links))
    }
}

fn name(content: &Value) -> String {
    item_name(item_of_call(content).0)
}

/// The argument that says most, and for an edit how many lines changed.
fn in_a_line(arguments: &Value, answer: &Value) -> Markup {
    let diff = answer["content"]["diff"].as_str().map(diff::counts);
    html! {
        @if let Some(argument) = main_argument(arguments) {
            span.m {
                (Shown(&line(argument, 160)))
                @if let Some((added, removed)) = diff { " " span.t3 { "+" (added) " −" (removed) } }
            }
        }
    }
}

/// The duration of the call, as a link to the record of its result.
fn outcome(
    thread: &Thread<'_>,
    record: &Record,
    result: Option<&Record>,
    answer: &Value,
) -> Markup {
    let Some(result) = result else { return html! { "no result" } };
    let took = duration(thread.active_at(result).saturating_sub(thread.active_at(record)));
    let is_own = result.seq == record.seq;
    html! {
        @if !answer["refusal"].is_null() { span.er { "refused" } " " }
        @else if answer["is_error"] == true { span.er { "failed" } " " }
        @if !is_own {
            a.then id=(thread.record_id(result.seq)) href=(thread.panel_address(result.seq)) title={ "Result: record " (result.seq) } { (took) }
        }
    }
}

/// The arguments, unless the line above says all of them.
fn arguments_block(arguments: &Value, answer: &Value) -> Markup {
    let is_told = arguments.as_object().is_none_or(|all| {
        all.is_empty()
            || all.len() == 1
                && main_argument(arguments).is_some_and(|it| it.len() <= 160 && !it.contains('\n'))
    });
    let is_edit = answer["content"]["diff"].is_string();
    html! { @if !is_told && !is_edit { (named_value("arguments", arguments, false)) } }
}

/// The members of a result that are texts.
const TEXTS: [&str; 6] = ["stdout", "stderr", "text", "content", "message", "body"];

fn result_block(answer: &Value) -> Markup {
    let content = &answer["content"];
    html! {
        @if let Some(refusal) = answer["refusal"].as_object() { (refusal_body(refusal)) }
        @else if let Some(text) = content.as_str() { (text_block(text, answer)) }
        @else if let Some(diff) = content["diff"].as_str() { (diff::table(diff)) }
        @else if let Some(all) = content.as_object().filter(|all| TEXTS.iter().any(|name| is_text(all, name))) { (texts(all)) }
        @else { (named_value("result", content, is_small(content))) }
    }
}

fn text_block(text: &str, answer: &Value) -> Markup {
    html! {
        @if text.trim().is_empty() { p.t3 { "nothing" } }
        @else if answer["is_error"] == true { div.er { (block(text)) } }
        @else { (block(text)) }
    }
}

fn is_text(all: &Map<String, Value>, name: &str) -> bool {
    all.get(name).is_some_and(Value::is_string)
}

/// Texts as blocks, and what stands beside them in one line.
fn texts(all: &Map<String, Value>) -> Markup {
    let rest: Map<String, Value> = all
        .iter()
        .filter(|(name, value)| !(TEXTS.contains(&name.as_str()) && value.is_string()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let is_failed = all.get("exit_code").is_some_and(|code| code != 0);
    html! {
        @for name in TEXTS {
            @if let Some(text) = all.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
                @if name == "stderr" && is_failed { div.er { (block(text)) } } @else { (block(text)) }
            }
        }
        @if !rest.is_empty() { (named_value("result", &Value::Object(rest), false)) }
    }
}

fn is_small(content: &Value) -> bool {
    super::value::in_short(content).len() < 60
}

fn refusal_body(refusal: &Map<String, Value>) -> Markup {
    let text = |name: &str| refusal.get(name).and_then(Value::as_str).unwrap_or_default();
    html! {
        p.er { (Shown(text("message"))) }
        p.t2 {
            "Not allowed by " (Shown(text("layer"))) ". Asked for " span.m { (Shown(text("capability"))) } ". The model was told, and the thread went on."
        }
    }
}

/// The children that a call started.
pub(crate) fn children(thread: &Thread<'_>, spawned: &[usize], links: Links) -> Markup {
    html! {
        @for record in spawned.iter().filter_map(|index| thread.record(*index)) {
            @let spawn = payload(record);
            @let id = spawn["thread"].as_str().unwrap_or_default();
            p id=(thread.record_id(record.seq)) {
                @match id.parse().ok().and_then(|child| links.child(thread.source, &child)) {
                    Some(address) => { a href=(address) { (Shown(spawn["directive"].as_str().unwrap_or_default())) " " (Shown(&short_id(id))) } }
                    None => { span.m { (Shown(spawn["directive"].as_str().unwrap_or_default())) " " (Shown(&short_id(id))) } }
                }
                " " span.t3 { (end_of_child(thread, id)) }
            }
        }
    }
}

/// The end of a child as its parent recorded it.
fn end_of_child(thread: &Thread<'_>, id: &str) -> Markup {
    let end = id.parse().ok().and_then(|child: ThreadId| thread.child_ends.get(&child));
    html! {
        @match end {
            Some(end) => { (end.state) @if end.cost > Nanos::ZERO { ", " (dollars(end.cost)) } }
            None => "has no recorded end",
        }
    }
}

/// A call that waited for a decision, with the decision.
pub(crate) fn approval(
    thread: &Thread<'_>,
    record: &Record,
    content: &Value,
    result: Option<&Record>,
    is_open: bool,
) -> Markup {
    let digest = content["arguments_sha256"].as_str().unwrap_or_default();
    let id = thread.source.record.thread.as_str();
    html! {
        div.call {
            b { (Shown(&item_name(content["item_id"].as_str().unwrap_or_default()))) }
            @if let Some(argument) = main_argument(&content["arguments"]) { span.m { (Shown(&line(argument, 160))) } }
            @if is_open { span.w.wa { "waits for a decision" } }
        }
        @if let Some(result) = result { (decision(thread, record, result)) }
        (named_value("arguments", &content["arguments"], is_open))
        @if is_open {
            dl.kv {
                @if let Some(asked) = &thread.pending { dt { "Asked because" } dd { (asked.request.why()) } }
                dt { "Arguments" } dd.m { "sha256 " (Shown(&hex_groups(digest.get(..32).unwrap_or(digest), 8))) }
                dt { "Decide" } dd.m { "rye approve " (Shown(id)) " --call " (record.seq) " --resume" }
            }
            @if let Some(token) = &thread.decision {
                @if is_shown_whole(&content["arguments"]) { (decision_form(id, token)) }
                @else { p.t2 { "The arguments are too long for this page. Decide with the command above." } }
            }
        }
    }
}

/// The form that approves or denies the call. Its token is of this call alone.
fn decision_form(thread: &str, token: &str) -> Markup {
    html! {
        form.decide method="post" action={ "../decide/" (thread) } {
            input type="hidden" name="call" value=(token);
            button.btn.go type="submit" name="decision" value="approve" { "Approve" }
            button.btn type="submit" name="decision" value="deny" { "Deny" }
            input type="text" name="reason" maxlength="400" placeholder="Reason for a denial, which the model is told" aria-label="Reason for a denial";
        }
    }
}

fn decision(thread: &Thread<'_>, asked: &Record, decided: &Record) -> Markup {
    let content = payload(decided);
    let word = content["decision"].as_str().unwrap_or_default();
    let waited = decided.at.as_unix_millis() - asked.at.as_unix_millis();
    let digest = content["arguments_sha256"].as_str().unwrap_or_default();
    html! {
        p {
            (icon(if word == "approved" { "completed" } else { "cancelled" })) " "
            (Shown(&capitalise(&word.replace('_', " ")))) " by " (Shown(content["by"].as_str().unwrap_or_default()))
            " after " (duration(u64::try_from(waited).unwrap_or(0))) " "
            span.t3 {
                "arguments sha256 " (Shown(digest.get(..8).unwrap_or_default())) ", "
                a id=(thread.record_id(decided.seq)) href=(thread.panel_address(decided.seq)) { "record " (decided.seq) }
            }
        }
        @if let Some(reason) = content["reason"].as_str() { (block(reason)) }
    }
}

fn capitalise(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}
