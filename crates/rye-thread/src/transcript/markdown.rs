//! The transcript for people: each event as a piece of Markdown.

mod again;

use serde_json::Value;

pub(crate) use self::again::markdown_of;
use super::Event;
use crate::{DenialReason, Failure, HookEffect, Moment, Nanos};

/// One event as Markdown that ends in a blank line; empty for events that only a program wants to read.
#[must_use]
pub fn markdown(event: &Event, at: Moment) -> String {
    match event {
        Event::ApprovalDecided { request, decision, by } => {
            let reason = decision.reason().map(DenialReason::as_str);
            decided(&request.item_id, decision.as_str(), by, reason)
        }
        Event::AssistantReasoning { text } => section("Reasoning", &quote(text)),
        Event::AssistantText { text } => section("Assistant", text),
        Event::Checkpoint { .. } | Event::StepStart { .. } => String::new(),
        Event::ContextInjected(injected) => {
            let what = injected.item_id.as_deref().unwrap_or("inline text");
            format!("Context in `{}`: `{what}`\n\n", injected.position)
        }
        Event::HookTriggered(triggered) => {
            let effect = triggered.effect.map(HookEffect::as_str);
            hooked(&triggered.hook, triggered.event.as_str(), effect)
        }
        Event::ModelFallback { provider: info, reason } => {
            format!("*`{}` at `{}` answers from here: {reason}*\n\n", info.model, info.provider)
        }
        Event::RequestFailed { turn, message, cost, .. } => failed(*turn, message, *cost),
        Event::RequestRetried { turn, retry, cost, .. } => {
            format!("*Turn {turn}: {}: {retry}{}*\n\n", retry.message, booked(*cost))
        }
        Event::ChildEnded(end) => {
            format!("Child `{}` ended: {}, {}\n\n", end.child, end.state, end.cost)
        }
        Event::SpawnChild(spawn) => format!("Child: `{}`\n\n", spawn.child),
        Event::StepFinish { turn, reply, cost } => {
            format!("*Turn {turn}: {} tokens, {cost}*\n\n", reply.usage.total())
        }
        Event::SystemPrompt { text } => section("System", &fenced("", text)),
        Event::ThreadStart { provider, facts, .. } => {
            let is_unverified = facts.get("verified") == Some(&Value::Bool(false));
            let unverified = if is_unverified { UNVERIFIED } else { "" };
            let (model, provider) = (&provider.model, &provider.provider);
            format!("# Thread\n\n{at}, `{model}` at `{provider}`\n\n{unverified}")
        }
        Event::ThreadResumed { opening, limits, .. } => {
            let raised = if limits.is_some() { ", with raised limits" } else { "" };
            format!("*Resumed {at}, opening {opening}{raised}*\n\n")
        }
        Event::UserMessage { text } => section("User", &fenced("", text)),
        Event::ApprovalRequested(request) => waiting(&request.item_id, &request.arguments),
        Event::HookCallResult { .. }
        | Event::HookCallStart { .. }
        | Event::ToolCallResult { .. }
        | Event::ToolCallStart { .. } => warned(event) + &call(event),
        Event::ThreadComplete { .. }
        | Event::ThreadContinued { .. }
        | Event::ThreadError { .. } => end(event),
    }
}

/// The mark of a thread that `--allow-unsigned` let run.
const UNVERIFIED: &str = "**Unverified: this thread used items that nobody signed.**\n\n";

fn failed(turn: u64, message: &str, cost: Nanos) -> String {
    format!("*Turn {turn} has no answer: {message}{}*\n\n", booked(cost))
}

/// The cost of an attempt without an answer, where it has one.
fn booked(cost: Nanos) -> String {
    if cost == Nanos::ZERO { String::new() } else { format!("; {cost} counts as spent") }
}

fn decided(item: &str, decision: &str, by: &str, reason: Option<&str>) -> String {
    let decision = decision.replace('_', " ");
    let reason = reason.map_or(String::new(), |reason| fenced("", reason) + "\n");
    format!("Call of `{item}` {decision} by {by}\n\n{reason}")
}

fn hooked(hook: &str, event: &str, effect: Option<&str>) -> String {
    let effect = effect.map_or(String::new(), |effect| format!(": {effect}"));
    format!("*Hook `{hook}` at `{event}`{effect}*\n\n")
}

fn waiting(item: &str, arguments: &Value) -> String {
    section(&format!("Waiting for approval: `{item}`"), &fenced("json", &pretty(arguments)))
}

/// The warning before a result of a hook that was refused or failed.
fn warned(event: &Event) -> String {
    match event {
        Event::HookCallResult { hook, result, refusal } if result.is_error || refusal.is_some() => {
            let what = if refusal.is_some() { "was refused" } else { "failed" };
            format!("**Warning: an action of hook `{hook}` {what}.**\n\n")
        }
        _ => String::new(),
    }
}

/// What is called, or came of it, with the JSON of it.
fn call(event: &Event) -> String {
    let titled = |is_error: &bool| if *is_error { "Failed" } else { "Result" };
    let (title, json) = match event {
        Event::HookCallResult { hook, result, .. } => {
            let title = titled(&result.is_error);
            (format!("{title} of hook `{hook}`: `{}`", result.name), &result.content)
        }
        Event::HookCallStart { hook, name, arguments, target, .. } => {
            let name = target.as_ref().map_or(name, |target| &target.item_id);
            (format!("Call of hook `{hook}`: `{name}`"), arguments)
        }
        Event::ToolCallResult { result, .. } => {
            (format!("{}: `{}`", titled(&result.is_error), result.name), &result.content)
        }
        Event::ToolCallStart { name, arguments, .. } => (format!("Call: `{name}`"), arguments),
        _ => return String::new(),
    };
    section(&title, &fenced("json", &pretty(json)))
}

/// How the thread came to its end, or to the thread after it.
fn end(event: &Event) -> String {
    match event {
        Event::ThreadComplete { outputs, turns, cost, .. } => {
            let outputs = outputs.clone().map(|it| fenced("json", &pretty(&Value::Object(it))));
            let outputs = outputs.map_or(String::new(), |text| text + "\n");
            section("Completed", &format!("{outputs}{}, {cost}", counted(*turns)))
        }
        Event::ThreadContinued { next, turns, cost, .. } => {
            section("Continued", &format!("Goes on as `{next}`.\n\n{}, {cost}", counted(*turns)))
        }
        Event::ThreadError { state, failure, turns, cost, .. } => {
            let why = failure.as_ref();
            let why = why.map_or(String::new(), |Failure { message, .. }| format!("{message}\n\n"));
            section(&format!("Ended: {state}"), &format!("{why}{}, {cost}", counted(*turns)))
        }
        _ => String::new(),
    }
}

fn counted(turns: u64) -> String {
    format!("{turns} turn{}", if turns == 1 { "" } else { "s" })
}

fn section(title: &str, body: &str) -> String {
    format!("## {title}\n\n{}\n\n", body.trim_end())
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// A fence that nothing in the text can close.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}
