//! `rye threads reindex`.

use std::path::PathBuf;

use rye::thread::ThreadId;
use rye::thread::store::{LocalStore, StoreOptions};
use serde_json::Value;

use super::{Known, NONE};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::thread_argument::unlinked_threads_folder;

pub(super) fn reindex(environment: &Environment) -> Result<Exit, Failure> {
    let threads = unlinked_threads_folder(environment)?;
    if !threads.is_dir() {
        return Ok(nothing(environment));
    }
    let options =
        environment.rye().map_or_else(|_| StoreOptions::default(), |rye| rye.store_options());
    let store = LocalStore::open_with(&threads, options)
        .map_err(|error| Failure::of(&error, Exit::Failed))?;
    let reindexed = store.reindex().map_err(|error| Failure::of(&error, Exit::Failed))?;
    note_unsigned(threads, &store, environment)?;
    let is_whole = reindexed.unreadable.is_empty();
    if environment.json() {
        let unreadable = reindexed.unreadable.iter().map(ThreadId::as_str).map(Value::from);
        Answer::of("unreadable", unreadable)
            .with("threads", reindexed.threads)
            .fine_if(is_whole)
            .print();
    } else {
        let plural = if reindexed.threads == 1 { "" } else { "s" };
        println!("{} thread{plural} listed", reindexed.threads);
        let left_out = |thread: &ThreadId| {
            format!("thread {thread} is left out; `rye threads verify {thread}` says why")
        };
        output::warnings(&reindexed.unreadable.iter().map(left_out).collect::<Vec<_>>());
    }
    Ok(if is_whole { Exit::Fine } else { Exit::Failed })
}

/// Verifies the record of each thread once, so that the list does not have to.
fn note_unsigned(
    threads: PathBuf,
    store: &LocalStore,
    environment: &Environment,
) -> Result<(), Failure> {
    let known = Known::read(threads, environment)?;
    let verified = known.summaries.iter().filter_map(|summary| {
        let used_unsigned = known.record_used_unsigned(&summary.thread)?;
        Some((summary.thread.clone(), used_unsigned))
    });
    let verified: Vec<_> = verified.collect();
    store.registry().note_unsigned(&verified).map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Prints the result for a project in which no thread has run.
fn nothing(environment: &Environment) -> Exit {
    if environment.json() {
        Answer::of("unreadable", []).with("threads", 0).print();
    } else {
        eprintln!("{NONE}");
    }
    Exit::Fine
}
