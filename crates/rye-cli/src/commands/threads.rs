//! `rye threads …`.

mod browser;
#[cfg(feature = "engine")]
mod engine;
pub(crate) mod export;
mod known;
mod list;
mod prune;
mod records;
mod reindex;
mod show;
mod source;
mod tail;
mod tree;
mod verify;
pub(crate) mod view;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use rye::ThreadReading;
use rye::resolve::ItemId;
use rye::thread::ThreadId;
use rye::types::ThreadState;

use self::export::Export;
use self::known::Known;
use self::prune::Prune;
#[cfg(feature = "engine")]
use crate::engine::{Engine, EngineOption};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::thread_argument::{OptionalThread, ThreadArgument, resolve, unlinked_threads_folder};

/// Look at the threads of the project
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the threads, the newest first
    #[command(
        after_help = "A thread that is `running` is driven by a program right now. One that is `stopped` was interrupted, or its \
                      program was killed; `rye resume` goes on with it.\n\n\
                      Examples:\n  rye threads list --json\n  \
                      rye threads list --state suspended --directive notes/index\n  \
                      rye threads list --engine https://engine.example.org"
    )]
    List(List),
    /// Show one thread: how it stands, what it returned, and what happened in it
    #[command(
        after_help = "The record and the transcript are verified first; a thread that was changed is refused. Without a thread, the newest \
                      is shown.\n\n\
                            Examples:\n  rye threads show\n  rye threads show --timeline\n  rye threads show index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Show(Show),
    /// Print what happens in one thread while it happens, until it ends or waits
    #[command(
        after_help = "Each record is verified before it is printed. The text of an answer that is still\ncoming is printed as it comes, although nothing \
                          vouches for it yet; with `--json` it is\n`{\"live\": TEXT}`. Without a thread, the newest is followed.\n\n\
                            Examples:\n  rye threads tail\n  rye threads tail index-019a0000-0000-7000-8000-000000000000"
    )]
    Tail(Tail),
    /// Show the threads below those that started them, and what they cost
    #[command(
        after_help = "What stands behind a thread is what it cost with all those below it, in so far as it is settled. Without a \
                      thread, all trees are shown.\n\n\
                      Examples:\n  rye threads tree\n  rye threads tree index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Tree(OptionalThread),
    /// Write one thread as a page, a trajectory, a signed receipt, or its verified records
    #[command(
        after_help = "The record and the transcript are verified first; a thread that was changed is refused. Without a thread, the newest \
                      is written.\n\n\
                      `html` is one page that opens without a server and without a network: summary, timeline, conversation, and each \
                      record with its hash; `--with-tree` puts all threads below it on the same page. `jsonl` is the lines of the transcript, byte for byte. `receipt` is a statement of in-toto \
                      about a thread that has ended, signed with your key; `rye verify receipt` verifies it without the thread. `atif` is a \
                      trajectory in the Agent Trajectory Interchange Format, version 1.8, with children inside.\n\n\
                      Examples:\n  rye threads export --format html --output thread.html\n  \
                      rye threads export index-019a0000-0000-7000-8000-000000000000 --format jsonl"
    )]
    Export(Export),
    /// Remove threads that have ended, as whole trees
    #[command(
        after_help = "A tree is a thread with all that it started and all that continue it. It is removed only when each of \
                      its threads\nhas ended and no process drives one. Without `--yes` nothing is removed. Exits with 1 when \
                      a tree was kept because a\nprocess drives it. A tree with a thread that `rye resume` can continue is \
                      kept and counted, but with\n`--resumable`.\n\n\
                      Examples:\n  rye threads prune --older-than 30d\n  \
                      rye threads prune --state completed --keep 20 --yes"
    )]
    Prune(Prune),
    /// Copy a thread that has ended, with all below it, from an engine into the project
    #[cfg(feature = "engine")]
    #[command(
        after_help = "The transcripts are verified, and the copy is shown, replayed and exported as a thread of this machine is. One that has not \
                      ended is refused, because it could go on twice.\n\n\
                      Example:\n  rye threads pull index-019a0000-0000-7000-8000-000000000000 --engine http://127.0.0.1:8080"
    )]
    Pull(Pull),
    /// Write the list of threads anew, from their transcripts
    #[command(
        after_help = "The list (`registry.db`) is an index, and nothing is decided by it. It is written anew by itself where it is missing, \
                      damaged\nor of another version, and completed where it lacks a thread. Exits with 1 when a thread is left out \
                      because its records cannot\nbe read.\n\n\
                      Examples:\n  rye threads reindex\n  rye threads reindex --json"
    )]
    Reindex,
    /// Verify the records and transcripts of all threads, or of one
    #[command(after_help = "Exits with 3 when one was changed, and says where.\n\n\
                            Examples:\n  rye threads verify\n  rye threads verify index-019a0000-0000-7000-8000-000000000000 --json")]
    Verify(OptionalThread),
}

/// The thread to copy, and the engine that keeps it.
#[cfg(feature = "engine")]
#[derive(Debug, Args)]
pub(crate) struct Pull {
    #[command(flatten)]
    thread: ThreadArgument,
    /// The engine: its address, or its name in `config/agent/engines.yaml`
    #[arg(long, value_name = "ENGINE")]
    engine: String,
    /// The label of the workers that run the thread there, instead of the one in `config/agent/engines.yaml`
    #[arg(long, value_name = "LABEL")]
    label: Option<rye::WorkerLabel>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only threads in this state (may be given many times)
    #[arg(long, value_name = "STATE", value_parser = standings())]
    state: Vec<String>,
    /// Only threads of this directive (may be given many times)
    #[arg(long, value_name = "ID")]
    directive: Vec<ItemId>,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
}

/// The parser of `--state`: the state of a thread, or `stopped` for a running thread without an owner.
fn standings() -> PossibleValuesParser {
    PossibleValuesParser::new(ThreadState::NAMES.iter().copied().chain([known::STOPPED]))
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    thread: OptionalThread,
    /// Draw the turns, waits, children and money as bars instead
    #[arg(long)]
    timeline: bool,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    thread: OptionalThread,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    match command {
        Command::Reindex => return reindex::reindex(environment),
        #[cfg(feature = "engine")]
        Command::Pull(arguments) => return pull(arguments, environment),
        _ => {}
    }
    #[cfg(feature = "engine")]
    if let Some(engine) = command.engine(environment)? {
        return engine::run(command, &engine, environment);
    }
    let Some(known) = open_known(environment)? else {
        return match command {
            Command::List(_) | Command::Prune(_) => Ok(list::nothing(environment)),
            Command::Tree(top) if !top.is_given() => Ok(list::nothing(environment)),
            _ => Err(nothing()),
        };
    };
    if !matches!(command, Command::Verify(_)) {
        known.warn_of_unreadable();
    }
    match command {
        Command::Export(arguments) => export::run(arguments, &known, environment),
        Command::List(arguments) => list::list(arguments, &known, environment),
        Command::Prune(arguments) => prune::prune(arguments, &known, environment),
        #[cfg(feature = "engine")]
        Command::Pull(arguments) => pull(arguments, environment),
        Command::Reindex => reindex::reindex(environment),
        Command::Show(arguments) => show::show(arguments, &known, environment),
        Command::Tail(arguments) => tail::tail(arguments, &known, environment),
        Command::Tree(arguments) => tree::tree(arguments, &known, environment),
        Command::Verify(arguments) => verify::verify(arguments, &known, environment),
    }
}

#[cfg(feature = "engine")]
fn pull(arguments: &Pull, environment: &Environment) -> Result<Exit, Failure> {
    let engine = Engine::open(&arguments.engine, arguments.label.clone(), environment)?;
    let thread = engine.resolve(arguments.thread.reference(), environment)?.thread;
    engine.pull(&thread, &unlinked_threads_folder(environment)?, environment)
}

#[cfg(feature = "engine")]
impl Command {
    /// Returns the engine that the command line names, or `None` for the threads of this machine.
    fn engine(&self, environment: &Environment) -> Result<Option<Engine>, Failure> {
        match self {
            Self::List(List { engine, .. })
            | Self::Show(Show { engine, .. })
            | Self::Tail(Tail { engine, .. }) => engine.open(environment),
            _ => Ok(None),
        }
    }
}

/// Returns the threads of the project, or `None` if there are none.
fn open_known(environment: &Environment) -> Result<Option<Known>, Failure> {
    Known::open(unlinked_threads_folder(environment)?, environment)
}

impl ThreadArgument {
    /// Returns the thread of the argument. A whole id is returned even if there is no such thread.
    pub(crate) fn resolve(&self, environment: &Environment) -> Result<ThreadId, Failure> {
        match self.reference() {
            Some(reference) => resolve(reference, environment),
            None => newest_thread(environment),
        }
    }
}

impl OptionalThread {
    /// Returns the thread of the argument, or `None` if there is none.
    pub(crate) fn resolve(&self, environment: &Environment) -> Result<Option<ThreadId>, Failure> {
        match self.reference() {
            Some(reference) => resolve(reference, environment).map(Some),
            None if self.is_given() => newest_thread(environment).map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the newest thread that no other thread started.
fn newest_thread(environment: &Environment) -> Result<ThreadId, Failure> {
    open_known(environment)?.ok_or_else(nothing)?.newest().cloned()
}

fn nothing() -> Failure {
    Failure::failed(NONE)
}

const NONE: &str = "no thread has run in this project yet; `rye run` starts one";

/// The unfinished threads of a project without an owner.
#[derive(Debug, Default)]
pub(crate) struct LeftOpen {
    /// Threads that wait for a decision, directly or through a child.
    pub(crate) suspended: usize,
    /// Threads that were interrupted, or whose program was killed.
    pub(crate) stopped: usize,
    /// Threads without an entry in the registry, whose record has no readable state.
    pub(crate) unreadable: usize,
    /// The reason why the registry cannot be read.
    pub(crate) damage: Option<String>,
}

/// Counts the unfinished threads, both in the registry and with a folder only.
pub(crate) fn left_open(threads: PathBuf, environment: &Environment) -> Result<LeftOpen, Failure> {
    let mut open = LeftOpen::default();
    let known = Known::read(threads, environment)?;
    open.damage.clone_from(&known.damage);
    for summary in &known.summaries {
        match known.standing(&summary.thread, summary.state) {
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
    Ok(environment.rye()?.thread(threads, thread)?)
}
