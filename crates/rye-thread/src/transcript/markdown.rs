//! The transcript for people: each event as a piece of Markdown.

use serde_json::Value;

use super::Event;
use crate::{Failure, Moment};

/// One event as Markdown that ends in a blank line; empty for events that only a program wants to read.
#[must_use]
pub fn markdown(event: &Event, at: Moment) -> String {
    match event {
        Event::ApprovalDecided { request, decision, by } => {
            format!("Call of `{}` {decision} by {by}\n\n", request.item_id)
        }
        Event::ApprovalRequested(request) => section(
            &format!("Waiting for approval: `{}`", request.item_id),
            &fenced("json", &pretty(&request.arguments)),
        ),
        Event::AssistantReasoning { text } => section("Reasoning", &quote(text)),
        Event::AssistantText { text } => section("Assistant", text),
        Event::Checkpoint { .. } | Event::StepStart { .. } => String::new(),
        Event::ContextInjected(injected) => {
            let what = injected.item_id.as_deref().unwrap_or("inline text");
            format!("Context in `{}`: `{what}`\n\n", injected.position)
        }
        Event::HookCallResult { hook, result, .. } => {
            let title = if result.is_error { "Failed" } else { "Result" };
            section(
                &format!("{title} of hook `{hook}`: `{}`", result.name),
                &fenced("json", &pretty(&result.content)),
            )
        }
        Event::HookCallStart { hook, name, arguments, target, .. } => {
            let name = target.as_ref().map_or(name, |target| &target.item_id);
            section(
                &format!("Call of hook `{hook}`: `{name}`"),
                &fenced("json", &pretty(arguments)),
            )
        }
        Event::HookTriggered(triggered) => {
            let effect = triggered.effect.map_or(String::new(), |effect| format!(": {effect}"));
            format!("*Hook `{}` at `{}`{effect}*\n\n", triggered.hook, triggered.event)
        }
        Event::ModelFallback { provider, reason } => {
            format!(
                "*`{}` at `{}` answers from here: {reason}*\n\n",
                provider.model, provider.provider
            )
        }
        Event::SpawnChild(spawn) => format!("Child: `{}`\n\n", spawn.child),
        Event::StepFinish { turn, reply, cost } => {
            format!("*Turn {turn}: {} tokens, {cost}*\n\n", reply.usage.total())
        }
        Event::SystemPrompt { text } => section("System", &fenced("", text)),
        Event::ThreadComplete { outputs, turns, cost, .. } => {
            let outputs =
                outputs.clone().map(|outputs| fenced("json", &pretty(&Value::Object(outputs))));
            section(
                "Completed",
                &format!(
                    "{}{turns} turns, {cost}",
                    outputs.map_or(String::new(), |text| text + "\n")
                ),
            )
        }
        Event::ThreadContinued { next, turns, cost, .. } => {
            section("Continued", &format!("Goes on as `{next}`.\n\n{turns} turns, {cost}"))
        }
        Event::ThreadError { state, failure, turns, cost, .. } => {
            let why = failure
                .as_ref()
                .map_or(String::new(), |Failure { message, .. }| format!("{message}\n\n"));
            section(&format!("Ended: {state}"), &format!("{why}{turns} turns, {cost}"))
        }
        Event::ThreadStart { provider, .. } => {
            format!("# Thread\n\n{at}, `{}` at `{}`\n\n", provider.model, provider.provider)
        }
        Event::ThreadResumed { epoch, .. } => format!("*Resumed {at}, opening {epoch}*\n\n"),
        Event::ToolCallResult { result, .. } => {
            let title = if result.is_error { "Failed" } else { "Result" };
            section(
                &format!("{title}: `{}`", result.name),
                &fenced("json", &pretty(&result.content)),
            )
        }
        Event::ToolCallStart { name, arguments, .. } => {
            section(&format!("Call: `{name}`"), &fenced("json", &pretty(arguments)))
        }
        Event::UserMessage { text } => section("User", &fenced("", text)),
    }
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
