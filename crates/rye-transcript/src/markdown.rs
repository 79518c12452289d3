//! The transcript for people: each event as a piece of Markdown.

use rye_parse::hidden_characters;
use rye_types::{Moment, Nanos};
use serde_json::{Map, Value};

use crate::{Decision, Event, Failure};

use crate::payload::{
    Intent, ModelFallback, Receipt, RequestFailed, StepFinish, ThreadComplete, ThreadContinued,
    ThreadError, ThreadStart,
};

/// The transcript of one thread for people, event by event.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    /// The call that was asked about last, and its item, which a decision does not name.
    asked: Option<(String, String)>,
}

impl Markdown {
    /// Returns the next event as Markdown that ends in a blank line, or an empty text for events that only programs read.
    ///
    /// The characters that a reader does not see are escaped, because the words are those of models, tools and files.
    #[must_use]
    pub fn of(&mut self, event: &Event, at: Moment) -> String {
        if let Event::ApprovalRequested(asked) = event {
            self.asked = Some((asked.call_id.clone(), asked.item_id.clone()));
        }
        visible(&self.as_recorded(event, at))
    }

    fn as_recorded(&self, event: &Event, at: Moment) -> String {
        match event {
            Event::ApprovalDecided(decided) => {
                let asked = self.asked.as_ref().filter(|(call, _)| *call == decided.call_id);
                let item = asked.map_or(&decided.call_id, |(_, item)| item);
                approval_decision(item, &decided.decision, &decided.by)
            }
            Event::AssistantReasoning(said) => section("Reasoning", &quote(&said.text)),
            Event::AssistantText(said) => section("Assistant", &said.text),
            Event::Checkpoint(_) | Event::StepStart(_) => String::new(),
            Event::ContextInjected(injected) => {
                let what = injected.item_id.as_deref().unwrap_or("inline text");
                format!("Context in `{}`: `{what}`\n\n", injected.position)
            }
            Event::HookTriggered(triggered) => {
                let effect = triggered.effect.map_or(String::new(), |effect| format!(": {effect}"));
                format!("*Hook `{}` at `{}`{effect}*\n\n", triggered.hook, triggered.event)
            }
            Event::ModelFallback(ModelFallback { model, provider, reason, .. }) => {
                format!("*`{model}` at `{provider}` answers from here: {reason}*\n\n")
            }
            Event::RequestFailed(RequestFailed { turn, message, cost, .. }) => {
                format!("*Turn {turn} has no answer: {message}{}*\n\n", cost_note(*cost))
            }
            Event::RequestRetried(again) => {
                let (turn, note) = (again.turn, cost_note(again.cost));
                format!("*Turn {turn}: {}: {}{note}*\n\n", again.message, again.retry())
            }
            Event::ChildEnded(end) => {
                format!("Child `{}` ended: {}, {}\n\n", end.child, end.state, end.cost)
            }
            Event::SpawnChild(spawn) => format!("Child: `{}`\n\n", spawn.child),
            Event::StepFinish(StepFinish { turn, reply, cost }) => {
                format!("*Turn {turn}: {} tokens, {cost}*\n\n", reply.usage.total())
            }
            Event::SystemPrompt(prompt) => section("System", &fence("", &prompt.text)),
            Event::ThreadStart(start) => opening(start, at),
            Event::ThreadResumed(resumed) => {
                let opening = resumed.opening;
                let raised = if resumed.limits.is_some() { ", with raised limits" } else { "" };
                format!("*Resumed {at}, opening {opening}{raised}*\n\n")
            }
            Event::UserMessage(said) => section("User", &fence("", &said.text)),
            Event::ApprovalRequested(asked) => {
                let title = format!("Waiting for approval: `{}`", asked.item_id);
                let arguments = fence("json", &pretty(&asked.arguments));
                section(&title, &format!("Asked because: {}\n\n{arguments}", asked.why()))
            }
            Event::ToolCallResult(receipt) => hook_warning(receipt) + &result(receipt),
            Event::ToolCallStart(intent) => call(intent),
            Event::ThreadComplete(ThreadComplete { outputs, turns, cost, .. }) => {
                let outputs = outputs.clone().map(|it| fence("json", &pretty(&Value::Object(it))));
                let outputs = outputs.map_or(String::new(), |text| text + "\n");
                section("Completed", &format!("{outputs}{}, {cost}", turn_count(*turns)))
            }
            Event::ThreadContinued(ThreadContinued { next, turns, cost, .. }) => section(
                "Continued",
                &format!("Continued in `{next}`.\n\n{}, {cost}", turn_count(*turns)),
            ),
            Event::ThreadError(ThreadError { state, failure, turns, cost, .. }) => {
                let why = failure.as_ref();
                let why =
                    why.map_or(String::new(), |Failure { message, .. }| format!("{message}\n\n"));
                section(&format!("Ended: {state}"), &format!("{why}{}, {cost}", turn_count(*turns)))
            }
        }
    }
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

/// The mark of a thread that `--allow-unsigned` let run.
const UNVERIFIED: &str = "**Unverified: this thread used unsigned items.**\n\n";

/// Formats the beginning of a thread.
fn opening(ThreadStart { provider, model, facts, .. }: &ThreadStart, at: Moment) -> String {
    let is_unverified = facts.get("verified") == Some(&Value::Bool(false));
    let unverified = if is_unverified { UNVERIFIED } else { "" };
    let answers = match (model.as_str(), provider.as_str()) {
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
fn hook_warning(receipt: &Receipt) -> String {
    match (&receipt.hook, &receipt.refusal) {
        (Some(hook), Some(_)) => {
            format!("**Warning: an action of hook `{hook}` was refused.**\n\n")
        }
        (Some(hook), None) if receipt.is_error => {
            format!("**Warning: an action of hook `{hook}` failed.**\n\n")
        }
        _ => String::new(),
    }
}

/// Formats a call with its arguments. That of a hook is named by its item, because no model chose its name.
fn call(Intent { name, arguments, target, hook, .. }: &Intent) -> String {
    let title = match hook {
        Some(hook) => {
            let item = target.as_ref().map_or(name, |target| &target.item_id);
            format!("Call of hook `{hook}`: `{item}`")
        }
        None => format!("Call: `{name}`"),
    };
    section(&title, &fence("json", &pretty(arguments)))
}

/// Formats the result of a call.
fn result(Receipt { name, content, is_error, hook, .. }: &Receipt) -> String {
    let what = if *is_error { "Failed" } else { "Result" };
    let of = hook.as_ref().map_or(String::new(), |hook| format!(" of hook `{hook}`"));
    section(&format!("{what}{of}: `{name}`"), &fence("json", &pretty(content)))
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
