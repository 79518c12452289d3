//! The transcript for people: each event as a piece of Markdown.

use rye_parse::hidden_characters;
use rye_types::{Moment, Nanos};
use serde_json::{Map, Value};

use crate::{Decision, Event, Failure, ProviderInfo, Record, recorded_events};

/// Returns one event as Markdown that ends in a blank line, or an empty text for events that only programs read.
///
/// The characters that a reader does not see are escaped, because the words are those of models, tools and files.
#[must_use]
pub fn markdown(event: &Event, at: Moment) -> String {
    visible(&as_recorded(event, at))
}

/// Returns the text with its hidden characters and carriage returns escaped.
fn visible(text: &str) -> String {
    let mut hidden = hidden_characters(text).peekable();
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if hidden.next_if_eq(&(at, c)).is_some() || c == '\r' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn as_recorded(event: &Event, at: Moment) -> String {
    match event {
        Event::ApprovalDecided { request, decision, by } => {
            approval_decision(&request.item_id, decision, by)
        }
        Event::AssistantReasoning { text } => section("Reasoning", &quote(text)),
        Event::AssistantText { text } => section("Assistant", text),
        Event::Checkpoint { .. } | Event::StepStart { .. } => String::new(),
        Event::ContextInjected(injected) => {
            let what = injected.item_id.as_deref().unwrap_or("inline text");
            format!("Context in `{}`: `{what}`\n\n", injected.position)
        }
        Event::HookTriggered(triggered) => {
            let effect = triggered.effect.map_or(String::new(), |effect| format!(": {effect}"));
            format!("*Hook `{}` at `{}`{effect}*\n\n", triggered.hook, triggered.event)
        }
        Event::ModelFallback { provider: info, reason } => {
            format!("*`{}` at `{}` answers from here: {reason}*\n\n", info.model, info.provider)
        }
        Event::RequestFailed { turn, message, cost, .. } => {
            format!("*Turn {turn} has no answer: {message}{}*\n\n", cost_note(*cost))
        }
        Event::RequestRetried { turn, retry, cost, .. } => {
            format!("*Turn {turn}: {}: {retry}{}*\n\n", retry.message, cost_note(*cost))
        }
        Event::ChildEnded(end) => {
            format!("Child `{}` ended: {}, {}\n\n", end.child, end.state, end.cost)
        }
        Event::SpawnChild(spawn) => format!("Child: `{}`\n\n", spawn.child),
        Event::StepFinish { turn, reply, cost } => {
            format!("*Turn {turn}: {} tokens, {cost}*\n\n", reply.usage.total())
        }
        Event::SystemPrompt { text } => section("System", &fence("", text)),
        Event::ThreadStart { provider, facts, .. } => opening(provider, facts, at),
        Event::ThreadResumed { opening, limits, .. } => {
            let raised = if limits.is_some() { ", with raised limits" } else { "" };
            format!("*Resumed {at}, opening {opening}{raised}*\n\n")
        }
        Event::UserMessage { text } => section("User", &fence("", text)),
        Event::ApprovalRequested(request) => {
            let title = format!("Waiting for approval: `{}`", request.item_id);
            let arguments = fence("json", &pretty(&request.arguments));
            section(&title, &format!("Asked because: {}\n\n{arguments}", request.why()))
        }
        Event::HookCallResult { .. }
        | Event::HookCallStart { .. }
        | Event::ToolCallResult { .. }
        | Event::ToolCallStart { .. } => hook_warning(event) + &call(event),
        Event::ThreadComplete { .. }
        | Event::ThreadContinued { .. }
        | Event::ThreadError { .. } => end(event),
    }
}

/// Returns the same text as [`markdown`] for the recorded events.
///
/// Returns `None` if a newer version recorded an event in a form that this one cannot read.
#[must_use]
pub fn markdown_of(records: &[Record]) -> Option<String> {
    let events = recorded_events(records).zip(records);
    events.map(|(event, record)| Some(markdown(&event.ok()?, record.at))).collect()
}

/// The mark of a thread that `--allow-unsigned` let run.
const UNVERIFIED: &str = "**Unverified: this thread used unsigned items.**\n\n";

/// Formats the beginning of a thread.
fn opening(provider: &ProviderInfo, facts: &Map<String, Value>, at: Moment) -> String {
    let is_unverified = facts.get("verified") == Some(&Value::Bool(false));
    let unverified = if is_unverified { UNVERIFIED } else { "" };
    let answers = match (provider.model.as_str(), provider.provider.as_str()) {
        ("", _) => "ended before it began".to_owned(),
        (model, provider) => format!("`{model}` at `{provider}`"),
    };
    let title = directive_of(facts).map_or_else(String::new, |id| format!(" of `{id}`"));
    let title = format!("# Thread{title}").replace('\n', "\\n");
    format!("{title}\n\n{at}, {answers}\n\n{unverified}{}", inputs_of(facts))
}

/// Returns the directive of a thread, which is the first of its chain.
fn directive_of(facts: &Map<String, Value>) -> Option<&str> {
    facts.get("chain")?.get(0)?.get("id")?.as_str()
}

/// Formats the inputs of a thread, if it has some.
fn inputs_of(facts: &Map<String, Value>) -> String {
    match facts.get("inputs") {
        Some(inputs @ Value::Object(members)) if !members.is_empty() => {
            format!("Inputs:\n\n{}\n", fence("json", &pretty(inputs)))
        }
        _ => String::new(),
    }
}

/// Formats the cost of an attempt without a reply, if it has one.
fn cost_note(cost: Nanos) -> String {
    if cost == Nanos::ZERO { String::new() } else { format!("; {cost} counts as spent") }
}

fn approval_decision(item: &str, decision: &Decision, by: &str) -> String {
    let reason = decision.reason().map(|reason| fence("", reason.as_str()) + "\n");
    let reason = reason.unwrap_or_default();
    let decision = decision.as_str().replace('_', " ");
    format!("Call of `{item}` {decision} by {by}\n\n{reason}")
}

/// Returns the warning before a refused or failed result of a hook.
fn hook_warning(event: &Event) -> String {
    match event {
        Event::HookCallResult { hook, result, refusal } if result.is_error || refusal.is_some() => {
            let what = if refusal.is_some() { "was refused" } else { "failed" };
            format!("**Warning: an action of hook `{hook}` {what}.**\n\n")
        }
        _ => String::new(),
    }
}

/// Formats a call or its result, with its JSON.
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
    section(&title, &fence("json", &pretty(json)))
}

/// Formats the end of the thread.
fn end(event: &Event) -> String {
    match event {
        Event::ThreadComplete { outputs, turns, cost, .. } => {
            let outputs = outputs.clone().map(|it| fence("json", &pretty(&Value::Object(it))));
            let outputs = outputs.map_or(String::new(), |text| text + "\n");
            section("Completed", &format!("{outputs}{}, {cost}", turn_count(*turns)))
        }
        Event::ThreadContinued { next, turns, cost, .. } => section(
            "Continued",
            &format!("Continued in `{next}`.\n\n{}, {cost}", turn_count(*turns)),
        ),
        Event::ThreadError { state, failure, turns, cost, .. } => {
            let why = failure.as_ref();
            let why = why.map_or(String::new(), |Failure { message, .. }| format!("{message}\n\n"));
            section(&format!("Ended: {state}"), &format!("{why}{}, {cost}", turn_count(*turns)))
        }
        _ => String::new(),
    }
}

fn turn_count(turns: u64) -> String {
    format!("{turns} turn{}", if turns == 1 { "" } else { "s" })
}

/// Formats a heading and what is below it. The heading is one line, because a name in it may be of the model's choosing.
fn section(title: &str, body: &str) -> String {
    format!("## {}\n\n{}\n\n", title.replace('\n', "\\n"), body.trim_end())
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// Puts the text into a fence that it cannot close.
fn fence(language: &str, text: &str) -> String {
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
