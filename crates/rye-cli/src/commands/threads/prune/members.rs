//! The members of each thread tree, according to their verified records.
//!
//! The registry is an index that a project may contain from elsewhere, so that it decides on no removal. It
//! is used only to name threads whose folder is gone, and the tree of a thread without a readable record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rye::thread::{ThreadId, ThreadSummary, spawned_children};
use rye::types::{Moment, ThreadState};
use rye::{ThreadReading, resume_command};

use super::super::{Known, read};
use crate::environment::Environment;
use crate::failure::Failure;

/// A thread of a tree.
pub(super) struct Member {
    pub(super) thread: ThreadId,
    pub(super) parent: Option<ThreadId>,
    pub(super) state: ThreadState,
    pub(super) updated: Moment,
    /// `true` if `rye resume` can continue the thread although it ended.
    pub(super) is_resumable: bool,
    created: Moment,
    /// The predecessor of the thread, or else its parent.
    above: Option<ThreadId>,
    /// The children of the thread, and its successor.
    below: Vec<ThreadId>,
}

impl Member {
    fn of_record(reading: &ThreadReading) -> Self {
        let record = &reading.record;
        let spawned = spawned_children(&reading.transcript).unwrap_or_default();
        let below = spawned.into_iter().map(|spawn| spawn.child);
        Self {
            thread: record.thread.clone(),
            parent: record.parent.clone(),
            state: record.state,
            updated: record.updated,
            is_resumable: resume_command(record).is_some(),
            created: record.created,
            above: record.continues.clone().or_else(|| record.parent.clone()),
            below: below.chain(record.continued_by.clone()).collect(),
        }
    }

    /// Creates a member from a row of the registry. Only this row can be removed.
    fn of_row(summary: &ThreadSummary) -> Self {
        Self {
            thread: summary.thread.clone(),
            parent: summary.parent.clone(),
            state: summary.state,
            updated: summary.updated,
            is_resumable: false,
            created: summary.created,
            above: summary.parent.clone(),
            below: Vec::new(),
        }
    }
}

/// Returns `true` if nothing of the thread is left on disk.
pub(super) fn is_gone(thread: &ThreadId, threads: &Path) -> bool {
    fs::symlink_metadata(threads.join(thread.as_str()))
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// All threads of a project.
pub(super) struct Members {
    /// The members of each tree, the oldest of a tree first. A tree is left out when the record of one of its threads cannot be
    /// read.
    pub(super) trees: Vec<Vec<Member>>,
    /// The threads whose records cannot be read, with the reasons.
    pub(super) unreadable: Vec<(ThreadId, Failure)>,
}

/// Reads the records of all threads.
pub(super) fn all(known: &Known, environment: &Environment) -> Members {
    let mut members = BTreeMap::new();
    let mut refused = Vec::new();
    // The trees of unreadable threads, according to their rows.
    let mut kept = BTreeSet::new();
    for summary in &known.summaries {
        let member = match read(&summary.thread, &known.threads, environment) {
            Ok(reading) => Member::of_record(&reading),
            Err(_) if is_gone(&summary.thread, &known.threads) => Member::of_row(summary),
            Err(failure) => {
                refused.push((summary.thread.clone(), failure));
                kept.extend(summary.parent.clone());
                continue;
            }
        };
        members.insert(summary.thread.clone(), member);
    }
    let unlisted = known.unreadable.iter();
    refused.extend(unlisted.filter_map(|thread| {
        Some((thread.clone(), read(thread, &known.threads, environment).err()?))
    }));
    let unreadable: BTreeSet<&ThreadId> =
        refused.iter().map(|(thread, _)| thread).chain(&known.unreadable).collect();
    let is_kept = |member: &Member| {
        kept.contains(&member.thread)
            || member.above.iter().chain(&member.below).any(|thread| unreadable.contains(thread))
    };
    let tops = tops(&members);
    let mut trees: BTreeMap<ThreadId, Vec<Member>> = BTreeMap::new();
    for (thread, member) in members {
        let top = tops.get(&thread).cloned().unwrap_or(thread);
        trees.entry(top).or_default().push(member);
    }
    let mut trees: Vec<Vec<Member>> =
        trees.into_values().filter(|tree| !tree.iter().any(is_kept)).collect();
    trees.iter_mut().for_each(|tree| tree.sort_by_key(|member| member.created));
    Members { trees, unreadable: refused }
}

/// Returns the root of each member's tree. Records may name each other in a circle. Each thread is visited
/// once, and a circle is a tree of its own.
fn tops(members: &BTreeMap<ThreadId, Member>) -> BTreeMap<ThreadId, ThreadId> {
    let mut tops: BTreeMap<ThreadId, ThreadId> = BTreeMap::new();
    for start in members.keys() {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let mut at = start;
        let top = loop {
            if let Some(top) = tops.get(at) {
                break top.clone();
            }
            path.push(at);
            seen.insert(at);
            let above = members.get(at).and_then(|member| member.above.as_ref());
            match above.and_then(|above| members.get_key_value(above)) {
                Some((above, _)) if !seen.contains(above) => at = above,
                _ => break at.clone(),
            }
        };
        tops.extend(path.into_iter().map(|thread| (thread.clone(), top.clone())));
    }
    tops
}
