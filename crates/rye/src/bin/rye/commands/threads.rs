//! `rye threads …`.

mod known;
mod list;
mod records;
mod show;
mod tail;
mod tree;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rye::thread::{ThreadId, ThreadState};
use rye::{ThreadReading, refuse_linked_threads};

use self::known::Known;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;

/// Look at the threads of the project
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the threads, the newest first
    #[command(
        after_help = "A thread that is `running` is driven by a program right now. One that is `stopped` was interrupted, or its \
                      program was killed; `rye resume` goes on with it.\n\n\
                      Example:\n  rye threads list --json"
    )]
    List,
    /// Show one thread: how it stands, what it returned, and what happened in it
    #[command(
        after_help = "The record and the transcript are verified first; a thread that was changed is refused.\n\n\
                            Examples:\n  rye threads show\n  rye threads show index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Show(Show),
    /// Print what happens in one thread while it happens, until it ends or waits
    #[command(
        after_help = "Each record is verified before it is printed. The text of an answer that is still\ncoming is printed as it comes, although nothing \
                          vouches for it yet; with `--json` it is\n`{\"live\": TEXT}`.\n\n\
                            Examples:\n  rye threads tail\n  rye threads tail index-019a0000-0000-7000-8000-000000000000"
    )]
    Tail(Show),
    /// Show the threads below those that started them, and what they cost
    #[command(
        after_help = "What stands behind a thread is what it cost with all those below it, in so far as it is settled.\n\n\
                      Examples:\n  rye threads tree\n  rye threads tree index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Tree(Tree),
    /// Verify the records and transcripts of all threads, or of one
    #[command(after_help = "Exits with 3 when one was changed, and says where.\n\n\
                            Examples:\n  rye threads verify\n  rye threads verify index-019a0000-0000-7000-8000-000000000000 --json")]
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The thread at its top; default: every thread that nobody started
    thread: Option<ThreadId>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The thread; default: all of them
    thread: Option<ThreadId>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The thread; default: the newest that no other one started
    thread: Option<ThreadId>,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    let threads = environment.project()?.join(".ai").join("threads");
    refuse_linked_threads(&threads).map_err(|error| Failure::of(&error, Exit::Refused))?;
    let Some(known) = Known::open(threads, environment)? else {
        if let Command::List | Command::Tree(Tree { thread: None }) = command {
            return Ok(list::nothing(environment));
        }
        return Err(nothing());
    };
    if !matches!(command, Command::Verify(_)) {
        known.warn_of_unreadable();
    }
    match command {
        Command::List => list::list(&known, environment),
        Command::Show(arguments) => show::show(arguments, &known, environment),
        Command::Tail(arguments) => tail::tail(arguments, &known, environment),
        Command::Tree(arguments) => tree::tree(arguments, &known, environment),
        Command::Verify(arguments) => verify::verify(arguments, &known, environment),
    }
}

fn nothing() -> Failure {
    Failure::failed(NONE)
}

const NONE: &str = "no thread has run in this project yet; `rye run` starts one";

/// The threads of a project that have not ended and that nobody drives.
#[derive(Debug, Default)]
pub(crate) struct LeftOpen {
    /// Waiting for a decision, or for a thread below that does.
    pub(crate) suspended: usize,
    /// Interrupted, or left by a program that was killed.
    pub(crate) stopped: usize,
    /// Without a line in the list, and with a record that does not say how they stand.
    pub(crate) unreadable: usize,
}

/// Those of the list and those that only have a folder.
pub(crate) fn left_open(threads: PathBuf, environment: &Environment) -> Result<LeftOpen, Failure> {
    let mut open = LeftOpen::default();
    let Some(known) = Known::open(threads, environment)? else { return Ok(open) };
    for summary in &known.summaries {
        match known.standing(&summary.thread, summary.state)? {
            known::STOPPED => open.stopped += 1,
            _ if summary.state == ThreadState::Suspended => open.suspended += 1,
            _ => {}
        }
    }
    open.unreadable = known.unreadable.len();
    Ok(open)
}

fn no_thread(thread: &ThreadId) -> Failure {
    Failure::failed(format!("no thread `{thread}` here; `rye threads list` has all"))
}

fn read(
    thread: &ThreadId,
    threads: &Path,
    environment: &Environment,
) -> Result<ThreadReading, Failure> {
    environment.rye()?.thread(threads, thread).map_err(|error| {
        Failure::of(&error, if error.is_tampering() { Exit::Refused } else { Exit::Failed })
    })
}
