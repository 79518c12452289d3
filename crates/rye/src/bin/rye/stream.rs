//! What happens in a run as it happens, for programs: one JSON object a line on standard output.
//!
//! `rye schema run_stream` describes the lines. The records among them are the transcript's own.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use rye::thread::transcript::Event;
use rye::thread::{Delta, Observer, OutputPiece, OutputStream, ThreadId};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::output;
use crate::progress::Progress;

/// Grows when a reader of the lines would have to change.
const VERSION: u64 = 1;

/// How much a command tells while its thread runs.
#[derive(Debug, Default, Args)]
pub(crate) struct Telling {
    /// Say nothing while it runs; with `--json`, print the result alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// With `--json`: also print the pieces of answers, and of what tools write, as they come
    #[arg(long, requires = "json", conflicts_with = "quiet")]
    deltas: bool,
}

impl Telling {
    /// Begins to tell of a thread.
    pub(crate) fn begin(&self, thread: &ThreadId, environment: &Environment) -> Watch {
        let programs = environment.streams().then(|| Stream::begin(thread, self.deltas));
        // On one terminal, what is for people would stand between the lines.
        let is_between = programs.is_some() && output::is_terminal();
        let is_wanted = !self.quiet && !is_between;
        let people = Progress::new(is_wanted, environment.colors());
        Watch { people, programs, warned: Mutex::default() }
    }
}

/// Tells people on standard error, and programs on standard output where `--json` asks for it.
#[derive(Debug)]
pub(crate) struct Watch {
    people: Progress,
    programs: Option<Stream>,
    /// The warnings that were told while it ran.
    warned: Mutex<BTreeSet<String>>,
}

impl Watch {
    /// Tells the warnings of a run that were not told before it began.
    pub(crate) fn warn(&self, warnings: &[String]) {
        let warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let left = warnings.iter().filter(|warning| !warned.contains(*warning)).cloned();
        output::warnings(&left.collect::<Vec<_>>());
    }

    /// Returns `true` if this text of the model is the last that a person was shown on a terminal.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.people.shows(text)
    }
}

/// The lines of one run.
#[derive(Debug)]
struct Stream {
    tells_pieces: bool,
}

impl Stream {
    /// Begins with the line that says what follows.
    fn begin(thread: &ThreadId, tells_pieces: bool) -> Self {
        let thread = thread.as_str();
        output::json_line(
            &json!({ "event": "stream_start", "version": VERSION, "thread_id": thread }),
        );
        Self { tells_pieces }
    }

    fn piece(&self, kind: &str, text: &str) {
        if self.tells_pieces {
            output::json_line(&json!({ "event": "delta", "kind": kind, "text": text }));
        }
    }
}

/// Tells how it ended, as the last line.
pub(crate) fn result(report: &Value) {
    output::json_line(&json!({ "event": "result", "result": report }));
}

/// Tells why there is no result, as the last line.
pub(crate) fn error(error: &Value) {
    output::json_line(&json!({ "event": "error", "error": error }));
}

impl Observer for Watch {
    fn event(&self, event: &Event) {
        self.people.event(event);
    }

    fn record(&self, line: &str) {
        if self.programs.is_some() {
            output::json_text(line);
        }
    }

    /// The threads that continue each other have most notices in common.
    fn notice(&self, text: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.to_owned()) {
            self.people.notice(text);
        }
    }

    /// Programs find what happens below in the records of these threads, which `spawn_child` names.
    fn below(&self, thread: &ThreadId, depth: usize, event: &Event) {
        self.people.below(thread, depth, event);
    }

    fn delta(&self, delta: Delta<'_>) {
        self.people.delta(delta);
        let Some(stream) = &self.programs else { return };
        match delta {
            Delta::Call(name) => stream.piece("call", name),
            Delta::Reasoning(text) => stream.piece("reasoning", text),
            Delta::Text(text) => stream.piece("text", text),
            _ => {}
        }
    }

    fn output(&self, piece: OutputPiece<'_>) {
        self.people.output(piece);
        if self.programs.as_ref().is_some_and(|stream| stream.tells_pieces) {
            let stream = match piece.stream {
                OutputStream::Error => "stderr",
                _ => "stdout",
            };
            let (call_id, text) = (piece.call_id, piece.text);
            output::json_line(
                &json!({ "event": "output", "call_id": call_id, "stream": stream, "text": text }),
            );
        }
    }
}
