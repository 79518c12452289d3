//! `rye threads prune`.

mod members;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use rye::resume_command;
use rye::thread::store::{LocalStore, StoreError, TreeOwnership};
use rye::thread::{ThreadId, ThreadRecord, thread_root};
use rye::types::{Moment, ThreadState};
use serde_json::json;

use self::members::{Member, Members};
use super::{Known, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Only trees without a change for this long: a number and `s`, `m`, `h`, `d` or `w`
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Only trees whose first thread ended in this state (may be given many times)
    #[arg(long, value_name = "STATE", value_parser = final_state)]
    state: Vec<ThreadState>,
    /// Keep the newest N of the trees that would be removed
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep: usize,
    /// Remove as well what `rye resume` can continue: threads that ended at a limit which can be raised, by a failure of the
    /// provider, or with an answer that was cut
    #[arg(long)]
    resumable: bool,
    /// Remove them; without this, the trees are only listed
    #[arg(long)]
    yes: bool,
}

/// Parses an age such as `30d`.
fn age(text: &str) -> Result<Duration, String> {
    let malformed = || "write a number and a unit, such as `30d` or `12h`".to_owned();
    let split = text.len().checked_sub(1).ok_or_else(malformed)?;
    let (number, unit) = text.split_at_checked(split).ok_or_else(malformed)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(malformed()),
    };
    let number: u64 = number.parse().map_err(|_| malformed())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(malformed)
}

/// Parses a state in which a thread has ended.
fn final_state(text: &str) -> Result<ThreadState, String> {
    let state = text.parse::<ThreadState>().ok().filter(|state| ENDED.contains(state));
    state.ok_or_else(|| {
        "only threads that ended are removed: `completed`, `error` or `cancelled`".to_owned()
    })
}

/// The states in which a conversation has ended.
const ENDED: [ThreadState; 3] =
    [ThreadState::Cancelled, ThreadState::Completed, ThreadState::Error];

pub(super) fn prune(
    arguments: &Prune,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let Members { trees, unreadable } = members::all(known, environment);
    let (mut removable, mut resumable) = select_trees(arguments, known, trees);
    let mut busy = Vec::new();
    if arguments.yes {
        let store = LocalStore::open_with(&known.threads, known.store_options())
            .map_err(|error| store_failure(&error))?;
        sweep(&known.threads)?;
        let mut removed = Vec::new();
        for tree in removable {
            match remove(&tree, &store, arguments, &known.threads, environment)? {
                Standing::Removable => removed.push(tree),
                Standing::Resumable => resumable.push(tree),
                Standing::Busy => busy.push(tree),
            }
        }
        removable = removed;
    }
    let kept = Kept { resumable: &resumable, busy: &busy, unreadable: &unreadable };
    report(arguments, &removable, &kept, environment);
    Ok(if busy.is_empty() { Exit::Fine } else { Exit::Failed })
}

/// The threads under one root, with their successors.
struct Tree {
    root: ThreadId,
    threads: Vec<ThreadId>,
    /// The time of the latest change in the tree.
    updated: Moment,
    bytes: u64,
    /// `true` if `rye resume` can continue one of the threads.
    is_resumable: bool,
}

/// Obstacles to the removal of a thread, the least first. A tree has the greatest one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Removable,
    /// `rye resume` can continue it, and the options keep such trees.
    Resumable,
    /// Another process drives it, or has changed it.
    Busy,
}

impl Standing {
    fn of(record: &ThreadRecord, arguments: &Prune) -> Self {
        if !record.state.is_final() {
            Self::Busy
        } else if !arguments.resumable && resume_command(record).is_some() {
            Self::Resumable
        } else {
            Self::Removable
        }
    }
}

/// The trees and threads that are kept for another reason than the options.
struct Kept<'a> {
    resumable: &'a [Tree],
    busy: &'a [Tree],
    unreadable: &'a [(ThreadId, Failure)],
}

/// Returns the trees that the options select, the newest first. Then it returns those that they would select if
/// `rye resume` could not continue them.
fn select_trees(
    arguments: &Prune,
    known: &Known,
    trees: Vec<Vec<Member>>,
) -> (Vec<Tree>, Vec<Tree>) {
    let oldest = arguments.older_than.map(|age| {
        let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Moment::from_unix_millis(Environment::moment().as_unix_millis().saturating_sub(millis))
    });
    let mut chosen = Vec::new();
    for members in trees {
        let Some(root) = members.first() else { continue };
        let updated = members.iter().map(|member| member.updated).max().unwrap_or(root.updated);
        let has_ended = members.iter().all(|member| member.state.is_final());
        let last = members.iter().rev().find(|member| member.parent == root.parent).unwrap_or(root);
        let is_state = arguments.state.is_empty() || arguments.state.contains(&last.state);
        if has_ended && is_state && oldest.is_none_or(|oldest| updated < oldest) {
            let threads: Vec<ThreadId> = members.iter().map(|it| it.thread.clone()).collect();
            let bytes = threads.iter().map(|it| bytes(&known.threads.join(it.as_str()))).sum();
            let is_resumable = members.iter().any(|member| member.is_resumable);
            chosen.push(Tree { root: root.thread.clone(), threads, updated, bytes, is_resumable });
        }
    }
    chosen.sort_by_key(|tree| std::cmp::Reverse(tree.updated));
    let is_kept = |tree: &Tree| tree.is_resumable && !arguments.resumable;
    let (resumable, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(is_kept);
    (chosen.into_iter().skip(arguments.keep).collect(), resumable)
}

/// Removes a tree, and returns how it stood before. Only a removable one is removed. Its records are read again, because
/// another process may have resumed it meanwhile.
///
/// Each folder is renamed first, so that a killed process leaves no partial thread behind.
fn remove(
    tree: &Tree,
    store: &LocalStore,
    arguments: &Prune,
    threads: &Path,
    environment: &Environment,
) -> Result<Standing, Failure> {
    let Some(owned) = own(tree, store, threads)? else { return Ok(Standing::Busy) };
    let standings = tree.threads.iter().map(|thread| match read(thread, threads, environment) {
        Ok(reading) => Standing::of(&reading.record, arguments),
        Err(_) if members::is_gone(thread, threads) => Standing::Removable,
        Err(_) => Standing::Busy,
    });
    let standing = standings.max().unwrap_or(Standing::Removable);
    let mut moved = Vec::new();
    if standing == Standing::Removable {
        for thread in &tree.threads {
            moved.extend(set_aside(&threads.join(thread.as_str()), threads, thread)?);
        }
        store.forget(&tree.threads).map_err(|error| store_failure(&error))?;
    }
    drop(owned);
    moved.iter().try_for_each(|folder| delete(folder))?;
    Ok(standing)
}

/// Takes ownership of a tree to remove. Returns `None` if another process owns it. The inner value is `None`
/// if there is no folder and so no lock.
fn own(
    tree: &Tree,
    store: &LocalStore,
    threads: &Path,
) -> Result<Option<Option<TreeOwnership>>, Failure> {
    let root = thread_root(threads, &tree.root).unwrap_or_else(|| tree.root.clone());
    if !threads.join(root.as_str()).is_dir() {
        return Ok(Some(None));
    }
    match store.own(&root) {
        Ok(owned) => Ok(Some(Some(owned))),
        Err(StoreError::Held { .. }) => Ok(None),
        Err(error) => Err(store_failure(&error)),
    }
}

/// Renames a folder to a name that is not a thread id. Returns `None` if the folder is gone.
fn set_aside(folder: &Path, threads: &Path, thread: &ThreadId) -> Result<Option<PathBuf>, Failure> {
    let aside = threads.join(format!("{REMOVED}{thread}"));
    match fs::rename(folder, &aside) {
        Ok(()) => Ok(Some(aside)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io("remove", folder, &error)),
    }
}

/// The prefix of such names. No thread id begins with a dot.
const REMOVED: &str = ".removed-";

/// Deletes folders that an earlier process renamed and did not delete.
fn sweep(threads: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(threads).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .and_then(|name| name.strip_prefix(REMOVED))
            .is_some_and(|thread| thread.parse::<ThreadId>().is_ok())
    });
    left.map(|entry| entry.path()).try_for_each(|folder| delete(&folder))
}

/// Deletes a folder, or a file with its name. Links are not followed.
fn delete(path: &Path) -> Result<(), Failure> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let deleted = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    deleted.map_err(|error| Failure::io("remove", path, &error))
}

/// Returns the size of the files directly in a folder. Threads have no files below it.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Tells of the trees that are removed, and of those that are kept for another reason than the options.
fn report(
    arguments: &Prune,
    trees: &[Tree],
    Kept { resumable, busy, unreadable }: &Kept<'_>,
    environment: &Environment,
) {
    let count: usize = trees.iter().map(|tree| tree.threads.len()).sum();
    let bytes: u64 = trees.iter().map(|tree| tree.bytes).sum();
    if environment.json() {
        let row = |tree: &Tree| {
            json!({
                "thread": tree.root.as_str(),
                "threads": tree.threads.iter().map(ThreadId::as_str).collect::<Vec<_>>(),
                "updated": tree.updated.to_string(),
                "bytes": tree.bytes,
            })
        };
        let is_fine = busy.is_empty();
        let busy = busy.iter().map(|tree| tree.root.as_str().into());
        let unreadable = unreadable.iter().map(
            |(thread, failure)| json!({ "thread": thread.as_str(), "error": failure.to_string() }),
        );
        let answer = Answer::of("trees", trees.iter().map(row)).fine_if(is_fine);
        let resumable = resumable.iter().map(|tree| tree.root.as_str().into());
        let answer = answer.beside("resumable", resumable);
        let answer = answer.beside("busy", busy).beside("unreadable", unreadable);
        let answer = answer.with("threads", count).with("bytes", bytes);
        return answer.with("removed", arguments.yes).print();
    }
    for tree in trees {
        println!(
            "{}  {}  {}",
            tree.updated,
            output::counted(tree.threads.len(), "thread"),
            tree.root
        );
    }
    for tree in *busy {
        eprintln!("kept {}: another process drives a thread of it, or has changed one", tree.root);
    }
    tell_unreadable(unreadable);
    if !resumable.is_empty() {
        let kept = output::counted(resumable.len(), "tree");
        eprintln!(
            "kept {kept} that `rye resume` can continue; `--resumable` removes such trees, too"
        );
    }
    let trees = output::counted(trees.len(), "tree");
    let all = format!("{trees} of {}", output::counted(count, "thread"));
    if arguments.yes {
        eprintln!("removed {all}");
    } else {
        eprintln!("would remove {all}; `--yes` removes them");
    }
}

/// Prints the threads that are kept because their records cannot be read, such as those of an older format.
fn tell_unreadable(unreadable: &[(ThreadId, Failure)]) {
    for (thread, failure) in unreadable.iter().take(MOST_UNREADABLE) {
        eprintln!("kept {thread}, which cannot be read: {failure}");
    }
    if unreadable.len() > MOST_UNREADABLE {
        eprintln!("kept {} more that cannot be read", unreadable.len() - MOST_UNREADABLE);
    }
    if !unreadable.is_empty() {
        eprintln!("to remove such a thread, remove its folder below `.ai/threads` by hand");
    }
}

/// The most threads that are printed one by one.
const MOST_UNREADABLE: usize = 5;

fn store_failure(error: &StoreError) -> Failure {
    Failure::of(error, Exit::Failed)
}

#[cfg(test)]
mod tests {
    use rye::thread::{Failure as ThreadFailure, FailureKind};
    use rye::types::LimitSet;

    use super::*;

    #[test]
    fn a_tree_stands_as_the_greatest_of_its_threads() {
        use Standing::{Busy, Removable, Resumable};

        let arguments = |resumable| Prune {
            older_than: None,
            state: Vec::new(),
            keep: 0,
            resumable,
            yes: true,
        };
        for (state, failure, kept, with_resumable) in [
            (ThreadState::Completed, None, Removable, Removable),
            (ThreadState::Continued, None, Removable, Removable),
            (ThreadState::Error, Some(FailureKind::Hook), Removable, Removable),
            (ThreadState::Error, Some(FailureKind::CutOff), Resumable, Removable),
            (ThreadState::Running, None, Busy, Busy),
            (ThreadState::Suspended, None, Busy, Busy),
        ] {
            let thread = "a-019a0000-0000-7000-8000-000000000001".parse().unwrap();
            let created = Moment::from_unix_millis(0);
            let mut record = ThreadRecord::new(&thread, "a", &LimitSet::default(), created);
            record.state = state;
            record.failure = failure.map(|kind| ThreadFailure::new(kind, "it ended"));
            assert_eq!(Standing::of(&record, &arguments(false)), kept, "{state}");
            assert_eq!(Standing::of(&record, &arguments(true)), with_resumable, "{state}");
        }
        assert!(Removable < Resumable && Resumable < Busy);
    }
}
