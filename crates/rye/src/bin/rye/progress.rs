//! What happens, as it happens, on standard error.

use std::io::{self, IsTerminal as _};

use rye::thread::Observer;
use rye::thread::transcript::Event;
use serde_json::Value;

use crate::output::{painted_error, visible};

/// Tells of a run while it runs; silent when nobody looks.
#[derive(Debug)]
pub(crate) struct Progress {
    is_shown: bool,
    colors: bool,
}

impl Progress {
    /// Shows itself on a terminal, unless the operator wants quiet.
    pub(crate) fn new(quiet: bool, colors: bool) -> Self {
        Self { is_shown: !quiet && io::stderr().is_terminal(), colors }
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
        if let Some(text) = self.is_shown.then(|| line(event)).flatten() {
            self.say(&text);
        }
    }
}

fn line(event: &Event) -> Option<String> {
    match event {
        Event::ThreadStart { provider, .. } => {
            Some(format!("{} {}", provider.provider, provider.model))
        }
        Event::StepStart { turn, .. } => Some(format!("turn {turn}")),
        Event::AssistantText { text } => Some(indented(text)),
        Event::ToolCallStart { name, arguments, .. } => {
            Some(format!("  {name} {}", short(arguments)))
        }
        Event::ToolCallResult { result, refusal: None } if result.is_error => {
            Some(format!("  ! {}", short(&result.content)))
        }
        Event::ToolCallResult { refusal: Some(refusal), .. } => {
            Some(format!("  refused: {}", refusal.message))
        }
        Event::StepFinish { cost, reply, .. } => {
            Some(format!("  {} tokens, {cost}", reply.usage.total()))
        }
        _ => None,
    }
}

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
