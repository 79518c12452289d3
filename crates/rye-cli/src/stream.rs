//! The progress of a run for programs: one JSON object per line on standard output.
//!
//! `rye schema run_stream` describes the lines. They include the records of the transcript.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use rye::thread::transcript::Event;
use rye::thread::{Delta, Observer, OutputPiece, OutputStream, ThreadId};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::output;
use crate::progress::Progress;

/// The version, which grows with changes that readers must handle.
const VERSION: u64 = 1;

/// The options for reports while a thread runs.
#[derive(Debug, Default, Args)]
pub(crate) struct Telling {
    /// Say nothing while it runs; with `--json`, print the result alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// With `--json`: also print the pieces of answers, and of what tools write, as they come
    #[arg(long, requires = "json", conflicts_with = "quiet")]
    pub(crate) deltas: bool,
}

impl Telling {
    /// Begins the reports of a thread.
    pub(crate) fn begin(&self, thread: &ThreadId, environment: &Environment) -> RunReporter {
        let programs = environment.streams().then(|| Stream::begin(thread, self.deltas));
        // On the same terminal, text for people would interrupt the lines.
        let is_between = programs.is_some() && output::is_terminal();
        let is_wanted = !self.quiet && !is_between;
        let people = Progress::new(is_wanted, environment.colors());
        RunReporter { people, programs, warned: Mutex::default() }
    }
}

/// Reports to people on standard error, and with `--json` to programs on standard output.
#[derive(Debug)]
pub(crate) struct RunReporter {
    people: Progress,
    programs: Option<Stream>,
    /// The warnings that were printed during the run.
    warned: Mutex<BTreeSet<String>>,
}

impl RunReporter {
    /// Prints the warnings of a run that have not been printed.
    pub(crate) fn warn(&self, warnings: &[String]) {
        let warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let left = warnings.iter().filter(|warning| !warned.contains(*warning)).cloned();
        output::warnings(&left.collect::<Vec<_>>());
    }

    /// Returns `true` if this is the last text of the model on a terminal.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.people.shows(text)
    }
}

/// The lines of a run.
#[derive(Debug)]
struct Stream {
    tells_pieces: bool,
}

impl Stream {
    /// Prints the first line, which describes the following ones.
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

/// Prints the result, as the last line.
pub(crate) fn result(report: &Value) {
    output::json_line(&json!({ "event": "result", "result": report }));
}

/// Prints the error, as the last line.
pub(crate) fn error(error: &Value) {
    output::json_line(&json!({ "event": "error", "error": error }));
}

impl Observer for RunReporter {
    fn event(&self, event: &Event) {
        self.people.event(event);
    }

    fn record(&self, line: &str) {
        if self.programs.is_some() {
            output::json_text(line);
        }
    }

    /// Prints each notice once, because the threads of a conversation share most notices.
    fn notice(&self, text: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(text.to_owned()) {
            self.people.notice(text);
        }
    }

    /// Reports to people only. Programs find these events in the records of the child threads, which
    /// `spawn_child` names.
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
            let call_id = piece.call_id;
            let text = piece.text;
            output::json_line(
                &json!({ "event": "output", "call_id": call_id, "stream": stream, "text": text }),
            );
        }
    }
}
