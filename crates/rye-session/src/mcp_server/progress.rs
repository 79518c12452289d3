//! Progress lines about a thread, for a client that waits for it.

use rye_thread::Observer;
use rye_thread::transcript::Event;
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
        Event::ThreadStart { provider, .. } => {
            Some(format!("begun with {} {}", provider.provider, provider.model))
        }
        Event::StepStart { turn, .. } => Some(format!("turn {turn}")),
        Event::ToolCallStart { target: Some(target), .. } => {
            Some(format!("calls {}", target.item_id))
        }
        Event::ToolCallStart { name, .. } => Some(format!("calls {name}")),
        Event::StepFinish { reply, .. } => Some(format!("{} tokens", reply.usage.total())),
        _ => None,
    }
}
