//! What happens, as it happens, on standard error.

mod below;

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};

use rye::thread::transcript::{Event, Target};
use rye::thread::{Clock as _, Delta, Nanos, Observer, OutputPiece, ThreadId};
use serde_json::Value;

use crate::clock::SystemClock;
use crate::output::{painted_error, visible};

/// Tells of a run while it runs; silent when nobody looks.
#[derive(Debug)]
pub(crate) struct Progress {
    is_shown: bool,
    colors: bool,
    clock: SystemClock,
    /// What all answers cost so far.
    spent: Mutex<Nanos>,
    /// What of the answer under way is on the terminal.
    told: Mutex<Told>,
}

/// How far an answer that comes in pieces was shown.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) text: String,
    /// Whether the last line is open.
    pub(crate) is_open: bool,
}

impl Progress {
    /// Shows itself on a terminal, where it is wanted.
    pub(crate) fn new(is_wanted: bool, colors: bool) -> Self {
        let is_shown = is_wanted && io::stderr().is_terminal();
        let (clock, spent) = (SystemClock::new(), Mutex::new(Nanos::ZERO));
        Self { is_shown, colors, clock, spent, told: Mutex::default() }
    }

    /// Shows more of the answer, from where it was left.
    fn show_more(&self, piece: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // What is somebody else's in it is visible by now, so that the paint may go out as it is.
        let piece = continued(&mut told, piece);
        match self.colors {
            true => painted_error(&format!("\x1b[2m{piece}\x1b[0m")),
            false => painted_error(&piece),
        }
    }

    /// Ends the open line, and says whether all of this text was shown.
    fn has_shown(&self, event: &Event) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut told.is_open) {
            eprint!("\n");
        }
        match event {
            Event::AssistantText { text } => std::mem::take(&mut told.text) == *text,
            // What came before belongs to an answer that failed.
            Event::StepStart { .. } => {
                told.text.clear();
                false
            }
            _ => false,
        }
    }

    /// What an answer came to, and with it the run.
    fn step(&self, cost: Nanos, tokens: u64) -> String {
        format!("  {tokens} tokens, {cost}; {}", self.so_far(cost))
    }

    /// What a run has come to by now, with the threads below it: money and time.
    fn so_far(&self, cost: Nanos) -> String {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent = spent.saturating_add(cost);
        format!("{spent}, {:.1} s so far", self.clock.elapsed().as_secs_f64())
    }

    /// Ends the line of an answer under way, so that another thread's stands on its own.
    fn end_line(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut told.is_open) {
            eprint!("\n");
        }
    }

    fn say(&self, text: &str) {
        let text = visible(text);
        match self.colors {
            true => painted_error(&format!("\x1b[2m{text}\x1b[0m\n")),
            false => eprintln!("{text}"),
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        if !self.is_shown || self.has_shown(event) {
            return;
        }
        if let Event::StepFinish { cost, reply, .. } = event {
            self.say(&self.step(*cost, reply.usage.total()));
        } else if let Some(text) = line(event) {
            self.say(&text);
        }
    }

    fn output(&self, piece: OutputPiece<'_>) {
        if self.is_shown {
            self.show_more(piece.text);
        }
    }

    fn below(&self, thread: &ThreadId, depth: usize, event: &Event) {
        if !self.is_shown {
            return;
        }
        let text = match event {
            Event::StepFinish { cost, reply, .. } => {
                Some(below::named(thread, depth, &self.step(*cost, reply.usage.total())))
            }
            event => below::line(thread, depth, event),
        };
        if let Some(text) = text {
            self.end_line();
            self.say(&text);
        }
    }

    fn delta(&self, delta: Delta<'_>) {
        if let (true, Delta::Text(piece)) = (self.is_shown, delta) {
            self.show_more(piece);
        }
    }
}

/// A piece of text as it continues what is shown: every line is indented, and nothing of it reaches the terminal as a command.
pub(crate) fn continued(told: &mut Told, piece: &str) -> String {
    let mut shown = String::new();
    for line in piece.split_inclusive('\n') {
        if !told.is_open {
            shown.push_str("  ");
        }
        shown.push_str(&visible(line.trim_end_matches('\n')));
        told.is_open = !line.ends_with('\n');
        if !told.is_open {
            shown.push('\n');
        }
    }
    told.text.push_str(piece);
    shown
}

fn line(event: &Event) -> Option<String> {
    match event {
        Event::ThreadStart { provider, .. } => {
            Some(format!("{} {}", provider.provider, provider.model))
        }
        Event::ModelFallback { provider, reason } => {
            Some(format!("{reason}\n{} {} instead", provider.provider, provider.model))
        }
        Event::StepStart { turn, .. } => Some(format!("turn {turn}")),
        Event::AssistantText { text } => Some(indented(text)),
        Event::ToolCallStart { name, arguments, target, .. } => {
            let (name, arguments) = called(name, arguments, target.as_ref());
            Some(format!("  {name} {}", short(arguments)))
        }
        Event::SpawnChild(spawn) => {
            Some(format!("  starts {} as thread {}", spawn.directive, spawn.child))
        }
        Event::ToolCallResult { result, refusal: None, .. } if result.is_error => {
            Some(format!("  ! {}", short(&result.content)))
        }
        Event::ToolCallResult { refusal: Some(refusal), .. } => {
            Some(format!("  refused: {}", refusal.message))
        }
        Event::HookTriggered(triggered) => {
            Some(format!("  hook {} at {}", triggered.hook, triggered.event))
        }
        Event::HookCallStart { arguments, target: Some(target), .. } => {
            Some(format!("    {} {}", target.item_id, short(arguments)))
        }
        Event::HookCallResult { result, refusal: None, .. } if result.is_error => {
            Some(format!("    ! {}", short(&result.content)))
        }
        Event::HookCallResult { refusal: Some(refusal), .. } => {
            Some(format!("    refused: {}", refusal.message))
        }
        Event::ThreadContinued { next, .. } => Some(format!("goes on as {next}")),
        _ => None,
    }
}

/// The tool that a call means, with its own arguments: one palette name may stand for many tools. Outputs that are returned
/// are no tool of the palette, so that nothing but the arguments says so.
fn called<'a>(
    name: &'a str,
    arguments: &'a Value,
    target: Option<&'a Target>,
) -> (&'a str, &'a Value) {
    match (target, arguments["item_id"].as_str()) {
        (Some(target), _) => (&target.item_id, arguments),
        (None, Some(item_id)) if name == EXECUTE => {
            (item_id, arguments.get("parameters").unwrap_or(&Value::Null))
        }
        _ => (name, arguments),
    }
}

const EXECUTE: &str = "rye_execute";

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn short(value: &Value) -> String {
    const MOST: usize = 100;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_shown_as_the_whole_would_be() {
        let mut told = Told::default();
        let pieces = ["On", "e\nTwo", "\n", "\nThr\u{1b}[2Jee"];
        let shown: String = pieces.iter().map(|piece| continued(&mut told, piece)).collect();
        let whole = indented(&visible(&pieces.concat()));
        assert_eq!(shown, whole);
        assert_eq!((told.text, told.is_open), (pieces.concat(), true));
    }
}
