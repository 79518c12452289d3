//! `rye threads export`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::ThreadReading;
use rye::files::read_plain;
use rye::thread::ThreadId;
use rye_view::Source;
use rye_view::export::{self, UnreadError};
use serde_json::json;

use super::source::{Reach, with_source};
use super::{Known, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{create_beside, read_signing_key, signing_key, warn_of_end};
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
    /// Put all threads below the thread into the page, too
    #[arg(long)]
    with_tree: bool,
    /// The private key that signs a receipt; default: your key in the user space
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// The choice of `--format`, which the help of the command explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Atif,
    Html,
    Jsonl,
    Receipt,
}

pub(super) fn run(
    arguments: &Export,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if environment.json() && arguments.output.is_none() {
        return Err(Failure::usage("`--json` tells about a written file; add `--output FILE`"));
    }
    if arguments.key.is_some() && arguments.format != Format::Receipt {
        return Err(Failure::usage("`--key` signs a receipt; add `--format receipt`"));
    }
    if arguments.with_tree && arguments.format != Format::Html {
        return Err(Failure::usage("`--with-tree` is for a page; add `--format html`"));
    }
    let thread = known.named_or_newest(&arguments.thread, environment)?;
    let text = match arguments.format {
        Format::Receipt => receipt(&thread, arguments.key.as_deref(), known, environment)?,
        Format::Atif => render(&thread, Reach::Tree, known, environment, export::atif)?,
        Format::Html if arguments.with_tree => {
            let make = |source: &Source<'_>| Ok(export::html_tree(source));
            render(&thread, Reach::Tree, known, environment, make)?
        }
        Format::Html => {
            let make = |source: &Source<'_>| Ok(export::html(source));
            render(&thread, Reach::Children, known, environment, make)?
        }
        Format::Jsonl => lines(&read(&thread, &known.threads, environment)?)?,
    };
    match &arguments.output {
        None if arguments.format == Format::Html => output::out(format_args!("{text}")),
        None => output::prescribed_json(&text),
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

/// Makes the text of a verified thread.
fn render(
    thread: &ThreadId,
    reach: Reach,
    known: &Known,
    environment: &Environment,
    make: fn(&Source<'_>) -> Result<String, UnreadError>,
) -> Result<String, Failure> {
    let mut made = Ok(String::new());
    with_source(thread, reach, known, environment, &mut |source| made = make(source))?;
    made.map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Signs a receipt of the thread with the operator's key.
fn receipt(
    thread: &ThreadId,
    key: Option<&Path>,
    known: &Known,
    environment: &Environment,
) -> Result<String, Failure> {
    let key = match key {
        Some(path) => read_signing_key(path)?,
        None => signing_key(environment)?,
    };
    warn_of_end(&key.public(), environment);
    let bytes = transcript(&known.threads.join(thread.as_str()))?;
    let mut signed = None;
    with_source(thread, Reach::Children, known, environment, &mut |source| {
        let at = Environment::moment();
        let version = env!("CARGO_PKG_VERSION");
        signed = Some(rye_view::receipt::sign(source, &bytes, at, version, &key));
    })?;
    let signed = signed.ok_or_else(super::nothing)?;
    signed.map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Reads the bytes of a transcript, which were not verified yet.
fn transcript(folder: &Path) -> Result<Vec<u8>, Failure> {
    let path = folder.join("transcript.jsonl");
    read_plain(&path, MOST_BYTES).map_err(|error| Failure::io("read", &path, &error))
}

fn lines(reading: &ThreadReading) -> Result<String, Failure> {
    let bytes = transcript(&reading.folder)?;
    let lines = export::jsonl(&bytes, &reading.transcript)
        .map_err(|error| Failure::of(&error, Exit::Failed))?;
    Ok(String::from_utf8_lossy(lines).into_owned())
}

/// The longest transcript that is read, as for its verification.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
