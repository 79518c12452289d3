//! Calls of tools, their results, the children that they start, and the decisions on them.

use maud::{Markup, html};
use rye_transcript::payload::{Asked, Decided, Intent, Receipt};
use rye_transcript::{Event, Record, Refusal, ThreadId};
use rye_types::Nanos;
use serde_json::{Map, Value};

use super::diff;
use super::document::icon;
use super::figures::{dollars, duration, hex_groups, short_id};
use super::links::Links;
use super::text::{Shown, block, line};
use super::value::{is_shown_whole, named_value};
use crate::model::{Thread, item_name, item_of_call, main_argument};

/// A call with what came of it.
pub(crate) fn call(
    thread: &Thread<'_>,
    record: &Record,
    call: &Intent,
    result: Option<&Record>,
    answer: Option<&Event>,
) -> Markup {
    let receipt = match answer {
        Some(Event::ToolCallResult(receipt)) => Some(receipt),
        _ => None,
    };
    let told = receipt.map(outcome);
    let took = match result {
        Some(result) => took(thread, record, result),
        None => html! { "no result" },
    };
    let arguments = &call.arguments;
    let diff = receipt.and_then(diff_of);
    html! {
        div.call {
            b { (Shown(&item_name(item_of_call(call).0))) }
            (in_a_line(arguments, diff))
            span.w { @if let Some(told) = told { (told) } (took) }
        }
        (hook_line(call.hook.as_deref()))
        @if diff.is_none() { (arguments_block(arguments)) }
        @if let Some(receipt) = receipt { (result_block(receipt)) }
    }
}

/// A call that was refused before it became an intent, which has a result alone.
pub(crate) fn refused_call(receipt: &Receipt) -> Markup {
    html! {
        div.call {
            b { (Shown(&item_name(&receipt.name))) }
            span.w { (outcome(receipt)) }
        }
        (hook_line(receipt.hook.as_deref()))
        (result_block(receipt))
    }
}

fn hook_line(hook: Option<&str>) -> Markup {
    html! { @if let Some(hook) = hook { p.t3 { "by hook " span.m { (Shown(hook)) } } } }
}

/// The lines that an edit changed.
fn diff_of(receipt: &Receipt) -> Option<&str> {
    receipt.content.get("diff")?.as_str()
}

/// The argument that says most, and for an edit how many lines changed.
fn in_a_line(arguments: &Value, diff: Option<&str>) -> Markup {
    html! {
        @if let Some(argument) = main_argument(arguments) {
            span.m {
                (Shown(&line(argument, 160)))
                @if let Some((added, removed)) = diff.map(diff::counts) { " " span.t3 { "+" (added) " −" (removed) } }
            }
        }
    }
}

fn outcome(receipt: &Receipt) -> Markup {
    html! {
        @if receipt.refusal.is_some() { span.er { "refused" } " " }
        @else if receipt.is_error { span.er { "failed" } " " }
    }
}

/// The duration of the call, as a link to the record of its result.
fn took(thread: &Thread<'_>, record: &Record, result: &Record) -> Markup {
    let took = duration(thread.active_at(result).saturating_sub(thread.active_at(record)));
    html! {
        a.then id=(thread.record_id(result.seq)) href=(thread.panel_address(result.seq)) title={ "Result: record " (result.seq) } { (took) }
    }
}

/// The arguments, unless the line above says all of them.
fn arguments_block(arguments: &Value) -> Markup {
    let is_told = arguments.as_object().is_none_or(|all| {
        all.is_empty()
            || all.len() == 1
                && main_argument(arguments).is_some_and(|it| it.len() <= 160 && !it.contains('\n'))
    });
    html! { @if !is_told { (named_value("arguments", arguments, false)) } }
}

/// The members of a result that are texts.
const TEXTS: [&str; 6] = ["stdout", "stderr", "text", "content", "message", "body"];

fn result_block(receipt: &Receipt) -> Markup {
    let content = &receipt.content;
    html! {
        @if let Some(refusal) = &receipt.refusal { (refusal_body(refusal)) }
        @else if let Some(text) = content.as_str() { (text_block(text, receipt.is_error)) }
        @else if let Some(diff) = diff_of(receipt) { (diff::table(diff)) }
        @else if let Some(all) = content.as_object().filter(|all| TEXTS.iter().any(|name| is_text(all, name))) { (texts(all)) }
        @else { (named_value("result", content, is_small(content))) }
    }
}

fn text_block(text: &str, is_error: bool) -> Markup {
    html! {
        @if text.trim().is_empty() { p.t3 { "nothing" } }
        @else if is_error { div.er { (block(text)) } }
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

fn refusal_body(refusal: &Refusal) -> Markup {
    html! {
        p.er { (Shown(&refusal.message)) }
        p.t2 {
            "Not allowed by " (Shown(&refusal.layer)) ". Asked for " span.m { (Shown(&refusal.capability)) } ". The model was told, and the thread went on."
        }
    }
}

/// The children that a call started.
pub(crate) fn children(thread: &Thread<'_>, spawned: &[usize], links: Links) -> Markup {
    html! {
        @for record in spawned.iter().filter_map(|index| thread.record(*index)) {
            @if let Ok(Event::SpawnChild(spawn)) = record.event() {
                p id=(thread.record_id(record.seq)) {
                    @match links.child(thread.source, &spawn.child) {
                        Some(address) => { a href=(address) { (Shown(&spawn.directive)) " " (Shown(&short_id(spawn.child.as_str()))) } }
                        None => { span.m { (Shown(&spawn.directive)) " " (Shown(&short_id(spawn.child.as_str()))) } }
                    }
                    " " span.t3 { (end_of_child(thread, &spawn.child)) }
                }
            }
        }
    }
}

/// The end of a child as its parent recorded it.
fn end_of_child(thread: &Thread<'_>, child: &ThreadId) -> Markup {
    html! {
        @match thread.child_ends.get(child) {
            Some(end) => { (end.state) @if end.cost > Nanos::ZERO { ", " (dollars(end.cost)) } }
            None => "has no recorded end",
        }
    }
}

/// A call that waited for a decision, with the decision.
pub(crate) fn approval(
    thread: &Thread<'_>,
    record: &Record,
    asked: &Asked,
    result: Option<&Record>,
    answer: Option<&Event>,
    is_open: bool,
) -> Markup {
    let Asked { item_id, arguments, arguments_sha256: digest, .. } = asked;
    let id = thread.source.record.thread.as_str();
    html! {
        div.call {
            b { (Shown(&item_name(item_id))) }
            @if let Some(argument) = main_argument(arguments) { span.m { (Shown(&line(argument, 160))) } }
            @if is_open { span.w.wa { "waits for a decision" } }
        }
        @if let (Some(result), Some(Event::ApprovalDecided(decided))) = (result, answer) { (decision(thread, record, result, decided)) }
        (named_value("arguments", arguments, is_open))
        @if is_open {
            dl.kv {
                dt { "Asked because" } dd { (asked.why()) }
                dt { "Arguments" } dd.m { "sha256 " (Shown(&hex_groups(digest.get(..32).unwrap_or(digest), 8))) }
                dt { "Decide" } dd.m { "rye approve " (Shown(id)) " --call " (record.seq) " --resume" }
            }
            @if let Some(token) = &thread.decision {
                @if is_shown_whole(arguments) { (decision_form(id, token)) }
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

fn decision(
    thread: &Thread<'_>,
    asked: &Record,
    record: &Record,
    Decided { arguments_sha256: digest, decision, by, .. }: &Decided,
) -> Markup {
    let waited = record.at.as_unix_millis() - asked.at.as_unix_millis();
    html! {
        p {
            (icon(if decision.is_approval() { "completed" } else { "cancelled" })) " "
            (Shown(&capitalise(&decision.as_str().replace('_', " ")))) " by " (Shown(by))
            " after " (duration(u64::try_from(waited).unwrap_or(0))) " "
            span.t3 {
                "arguments sha256 " (Shown(digest.get(..8).unwrap_or_default())) ", "
                a id=(thread.record_id(record.seq)) href=(thread.panel_address(record.seq)) { "record " (record.seq) }
            }
        }
        @if let Some(reason) = decision.reason() { (block(reason.as_str())) }
    }
}

fn capitalise(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}
