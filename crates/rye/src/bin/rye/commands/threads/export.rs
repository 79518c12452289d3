//! `rye threads export`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::ThreadReading;
use rye::thread::{ThreadId, read_plain};
use serde_json::json;

use super::source::with_source;
use super::{Known, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::create_beside;
use crate::output::{self, Answer};
use crate::thread_argument::OptionalThread;

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    thread: OptionalThread,
    /// The form of the file
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Format,
    /// The file to write, which must not be there yet; default: standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The choice of `--format`, which the help of the command explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Html,
    Jsonl,
}

pub(super) fn export(
    arguments: &Export,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if environment.json() && arguments.output.is_none() {
        return Err(Failure::usage("`--json` tells about a written file; add `--output FILE`"));
    }
    let thread = known.named_or_newest(&arguments.thread, environment)?;
    let text = match arguments.format {
        Format::Html => page(&thread, known, environment)?,
        Format::Jsonl => lines(&read(&thread, &known.threads, environment)?)?,
    };
    match &arguments.output {
        None => output::bytes(text.as_bytes()),
        Some(path) => {
            create_beside(&environment.absolute(path), &text, PRIVATE)?;
            told(&thread, path, text.len(), environment);
        }
    }
    Ok(Exit::Fine)
}

/// A thread may hold what only its operator should read.
const PRIVATE: u32 = 0o600;

fn told(thread: &ThreadId, path: &Path, size: usize, environment: &Environment) {
    if environment.json() {
        let row = json!({ "thread": thread.as_str(), "path": output::path(path), "bytes": size });
        Answer::one("exports", row).print();
    }
}

fn page(thread: &ThreadId, known: &Known, environment: &Environment) -> Result<String, Failure> {
    let mut page = String::new();
    with_source(thread, known, environment, &mut |source| {
        page = rye_view::export::html(source);
    })?;
    Ok(page)
}

fn lines(reading: &ThreadReading) -> Result<String, Failure> {
    let path = reading.folder.join("transcript.jsonl");
    let bytes = read_plain(&path, MOST_BYTES)
        .map_err(|error| Failure::failed(format!("cannot read `{}`: {error}", path.display())))?;
    let lines = rye_view::export::jsonl(&bytes, &reading.transcript)
        .map_err(|error| Failure::of(&error, Exit::Failed))?;
    Ok(String::from_utf8_lossy(lines).into_owned())
}

/// The longest transcript that is read, as for its verification.
const MOST_BYTES: u64 = 1 << 30;
