//! `rye threads tail`.

use std::path::Path;
use std::time::Duration;

use rye::UnfinishedAnswer;
use rye::thread::ThreadId;
use serde_json::json;

use super::records::{event, line};
use super::{Known, Tail, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::{StreamedText, continue_text};

pub(super) fn tail(
    arguments: &Tail,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let thread = &known.named_or_newest(&arguments.thread, environment)?;
    let advice = format!("no process drives thread {thread}; go on with `rye resume {thread}`");
    let mut is_driven = || Ok(known.driver(thread).is_some());
    follow(thread, &known.threads, &mut is_driven, &advice, environment)
}

/// Prints the records of a thread as they come, until it ends or is not driven any more. Then it prints `advice`.
pub(super) fn follow(
    thread: &ThreadId,
    threads: &Path,
    is_driven: &mut dyn FnMut() -> Result<bool, Failure>,
    advice: &str,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let mut told = 0;
    let mut live = Live::default();
    loop {
        // Checked before the record is read, because the thread may end meanwhile.
        let is_driven = is_driven()?;
        let reading = read(thread, threads, environment)?;
        if told < reading.transcript.records.len() {
            live.end(environment);
        }
        for record in reading.transcript.records.iter().skip(told) {
            if environment.json() {
                output::json_line(&event(record));
            } else {
                println!("{}", line(record));
            }
        }
        told = reading.transcript.records.len();
        let record = &reading.record;
        // A copied transcript has no `thread.json` that claims it.
        if record.transcript.as_ref().map_or(record.state.is_final(), |claim| !claim.is_open) {
            return Ok(Exit::Fine);
        }
        if !is_driven {
            live.end(environment);
            eprintln!("{advice}");
            return Ok(Exit::Fine);
        }
        live.tell(UnfinishedAnswer::read(&reading.folder), environment);
        #[expect(clippy::disallowed_methods, reason = "this command runs no tasks")]
        std::thread::sleep(PAUSE);
    }
}

/// The part of the current answer that was printed.
#[derive(Default)]
struct Live {
    number: u64,
    told: StreamedText,
}

impl Live {
    fn tell(&mut self, answer: Option<UnfinishedAnswer>, environment: &Environment) {
        let Some(answer) = answer else { return };
        if answer.number != self.number {
            self.end(environment);
            self.number = answer.number;
        }
        let piece = answer.text.strip_prefix(&self.told.text).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        if environment.json() {
            output::json_line(&json!({ "live": piece }));
            self.told.text.push_str(piece);
        } else {
            print!("{}", continue_text(&mut self.told, piece));
        }
    }

    /// Ends the open line, because another answer follows.
    fn end(&mut self, environment: &Environment) {
        if std::mem::take(&mut self.told).is_open && !environment.json() {
            print!("\n");
        }
    }
}

/// The time between two reads.
pub(super) const PAUSE: Duration = Duration::from_millis(200);
