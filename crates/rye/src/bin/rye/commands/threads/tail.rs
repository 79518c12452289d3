//! `rye threads tail`.

use std::time::Duration;

use rye::UnfinishedAnswer;
use serde_json::json;

use super::records::{event, line};
use super::{Known, Show, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::{Told, continued};

pub(super) fn tail(
    arguments: &Show,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let thread = &known.named_or_newest(&arguments.thread, environment)?;
    let (mut told, mut live) = (0, Live::default());
    loop {
        // Asked before the record is read, which may end meanwhile.
        let is_driven = known.driver(thread).is_some();
        let reading = read(thread, &known.threads, environment)?;
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
        if reading.record.transcript.as_ref().is_some_and(|claim| !claim.is_open) {
            return Ok(Exit::Fine);
        }
        if !is_driven {
            live.end(environment);
            eprintln!("nobody drives thread {thread}; go on with `rye resume {thread}`");
            return Ok(Exit::Fine);
        }
        live.tell(UnfinishedAnswer::read(&reading.folder), environment);
        std::thread::sleep(PAUSE);
    }
}

/// What was told of an answer that is on its way.
#[derive(Default)]
struct Live {
    number: u64,
    told: Told,
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
            print!("{}", continued(&mut self.told, piece));
        }
    }

    /// Ends the open line; what comes next is another answer.
    fn end(&mut self, environment: &Environment) {
        if std::mem::take(&mut self.told).is_open && !environment.json() {
            print!("\n");
        }
    }
}

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(200);
