//! Progress lines about a thread, for a client that waits for it.

use rye_thread::Observer;
use rye_thread::transcript::Event;
use rye_thread::transcript::payload::{Intent, StepFinish, StepStart, ThreadStart};
use tokio::sync::mpsc::Sender;

/// Sends one line for each notable event to a client that waits, if there is one.
#[derive(Debug)]
pub(super) struct Lines(pub(super) Sender<String>);

impl Observer for Lines {
    fn event(&self, event: &Event) {
        if let Some(line) = line(event) {
            // The client may have stopped waiting, or may read so slowly that this line is left out.
            drop(self.0.try_send(line));
        }
    }
}

/// Names and numbers, and nothing that a model, a tool or a person said.
fn line(event: &Event) -> Option<String> {
    match event {
        Event::ThreadStart(ThreadStart { provider, model, .. }) => {
            Some(format!("begun with {provider} {model}"))
        }
        Event::StepStart(StepStart { turn, .. }) => Some(format!("turn {turn}")),
        Event::ToolCallStart(Intent { name, target, hook: None, .. }) => {
            let name = target.as_ref().map_or(name, |target| &target.item_id);
            Some(format!("calls {name}"))
        }
        Event::StepFinish(StepFinish { reply, .. }) => {
            Some(format!("{} tokens", reply.usage.total()))
        }
        _ => None,
    }
}
