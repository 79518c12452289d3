//! Thread arguments of commands: an id, a part of an id, or the newest thread.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::refuse_linked_threads;
use rye::thread::{ThreadId, ThreadReference, ThreadReferenceError};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;

/// A required thread.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ThreadArgument {
    /// The thread: its id, a prefix that no other thread has, or its last eight characters
    thread: Option<ThreadReference>,
    /// The newest thread that no other thread started
    #[arg(long)]
    last: bool,
}

/// An optional thread.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct OptionalThread {
    /// The thread: its id, a prefix that no other thread has, or its last eight characters
    thread: Option<ThreadReference>,
    /// The newest thread that no other thread started
    #[arg(long)]
    last: bool,
}

impl ThreadArgument {
    /// Returns the reference, or `None` for the newest thread.
    pub(crate) fn reference(&self) -> Option<&ThreadReference> {
        self.thread.as_ref()
    }
}

impl OptionalThread {
    /// Returns the reference, or `None` for the newest thread.
    pub(crate) fn reference(&self) -> Option<&ThreadReference> {
        self.thread.as_ref()
    }

    /// Returns `true` if the command line names a thread.
    pub(crate) fn is_given(&self) -> bool {
        self.thread.is_some() || self.last
    }
}

/// Returns the only thread of the project with this id or part of it.
pub(crate) fn resolve(
    reference: &ThreadReference,
    environment: &Environment,
) -> Result<ThreadId, Failure> {
    let known = folders(&threads_folder(environment)?);
    reference.resolve(&known).map_err(Failure::from)
}

/// Returns the folder of the project's threads, which may not exist.
pub(crate) fn threads_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    Ok(environment.project()?.join(".ai").join("threads"))
}

/// Returns the folder of the project's threads like [`threads_folder`]. Fails if it is a link.
pub(crate) fn unlinked_threads_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    let threads = threads_folder(environment)?;
    refuse_linked_threads(&threads).map_err(|error| Failure::of(&error, Exit::Refused))?;
    Ok(threads)
}

/// Returns the threads that have a folder, unsorted.
pub(crate) fn folders(threads: &Path) -> Vec<ThreadId> {
    let entries = std::fs::read_dir(threads).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl From<ThreadReferenceError> for Failure {
    fn from(error: ThreadReferenceError) -> Self {
        Self::of(&error, Exit::Failed)
    }
}
