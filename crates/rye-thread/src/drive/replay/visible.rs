//! The texts of the record that the model read or wrote.

use rye_sign::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::transcript::{Event, EventKind, Record};

use crate::transcript::payload::{Intent, Receipt, ThreadComplete};
use crate::{ApprovalReason, Reply};

/// One thing that a model saw or said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VisibleText {
    pub(super) what: String,
    pub(super) text: String,
}

/// All of it, in order.
pub(super) fn visible(records: &[Record]) -> Vec<VisibleText> {
    let mut turn = 0_u64;
    let mut calls = 0_u64;
    let mut results = 0_u64;
    let mut seen = Vec::new();
    let mut is_again = false;
    for record in records {
        let Ok(event) = record.event() else { continue };
        match &event {
            Event::ApprovalRequested(asked) => {
                is_again = asked.reason == ApprovalReason::Interrupted;
            }
            Event::ToolCallResult(_) => is_again = false,
            // The model made the call once, however often it had to be run.
            Event::ToolCallStart(_) if is_again => continue,
            _ => {}
        }
        let (what, text) = match event {
            Event::ThreadStart(start) => ("the tools".to_owned(), pretty(&start.tools)),
            Event::SystemPrompt(prompt) => ("the system prompt".to_owned(), prompt.text),
            Event::UserMessage(said) if turn == 0 => ("the first message".to_owned(), said.text),
            Event::UserMessage(said) => (format!("the message after turn {turn}"), said.text),
            Event::StepFinish(finish) => {
                (turn, calls, results) = (turn + 1, 0, 0);
                (format!("the answer of turn {turn}"), answer(record, &finish.reply))
            }
            Event::HookTriggered(triggered) => (
                format!("a hook after turn {turn}"),
                format!("{} at {}", triggered.hook, triggered.event),
            ),
            Event::ToolCallStart(intent) => {
                let what = match &intent.hook {
                    Some(hook) => format!("a call of hook `{hook}` after turn {turn}"),
                    None => {
                        calls += 1;
                        format!("call {calls} of turn {turn}")
                    }
                };
                (what, call(&intent))
            }
            Event::ToolCallResult(receipt) => {
                let what = match &receipt.hook {
                    Some(hook) => {
                        format!("the result of a call of hook `{hook}` after turn {turn}")
                    }
                    None => {
                        results += 1;
                        format!("the result of call {results} of turn {turn}")
                    }
                };
                (what, result(&receipt))
            }
            Event::ThreadComplete(ended) => ("the end".to_owned(), end(&ended)),
            Event::ThreadContinued(_) => ("the end".to_owned(), "continued".to_owned()),
            _ => continue,
        };
        seen.push(VisibleText { what, text });
    }
    seen
}

/// Returns `true` if [`visible`] shows an event of this kind.
pub(super) const fn is_seen(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::HookTriggered
            | EventKind::StepFinish
            | EventKind::SystemPrompt
            | EventKind::ThreadComplete
            | EventKind::ThreadContinued
            | EventKind::ThreadStart
            | EventKind::ToolCallResult
            | EventKind::ToolCallStart
            | EventKind::UserMessage
    )
}

/// The SHA-256 over all of it, in hex.
pub(super) fn digest(seen: &[VisibleText]) -> String {
    let line =
        |VisibleText { what, text }: &VisibleText| format!("{what}\n{}\n{text}\n", text.len());
    Digest::of(seen.iter().map(line).collect::<String>().as_bytes()).to_string()
}

/// The answer as received, with the view of it that the run reads.
fn answer(record: &Record, reply: &Reply) -> String {
    let raw = record.payload.get();
    let exact = raw.find(r#""reply":{"raw":"#).and_then(|at| raw.get(at..)).unwrap_or(raw);
    let digest: String = Digest::of(exact.as_bytes()).to_string().chars().take(16).collect();
    format!("{}\n{}\nexact: {digest}", reply.text, pretty(&reply.calls))
}

fn call(Intent { name, arguments, target, .. }: &Intent) -> String {
    let item = target.as_ref().map_or("", |target| &target.item_id);
    format!("{name} ({item})\n{arguments:#}")
}

fn result(Receipt { name, content, is_error, .. }: &Receipt) -> String {
    let sort = if *is_error { "error" } else { "ok" };
    format!("{name} {sort}\n{content:#}")
}

fn end(ThreadComplete { text, outputs, .. }: &ThreadComplete) -> String {
    format!("{text}\n{}", pretty(outputs))
}

fn pretty(value: &impl Serialize) -> String {
    let value: Value = serde_json::to_value(value).expect("because every part of it is plain JSON");
    format!("{value:#}")
}
