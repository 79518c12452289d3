//! One system thread per process that looks for requests, for any number of trees.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::request::{folder, prefix, read};
use super::trees::{OwnedTree, owned_trees};

/// `true` while the thread runs.
static IS_RUNNING: Mutex<bool> = Mutex::new(false);

/// Starts to look for requests, unless it has started already.
pub(super) fn start() {
    let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_running {
        return;
    }
    let started = std::thread::Builder::new().name("rye-requests".to_owned()).spawn(watch);
    // If the system starts no thread, `rye cancel` names this process and fails.
    *is_running = started.is_ok();
}

/// Looks for requests until this process owns no tree.
fn watch() {
    let mut delivered = BTreeSet::new();
    loop {
        #[expect(clippy::disallowed_methods, reason = "this system thread runs no tasks")]
        std::thread::sleep(PAUSE);
        let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let trees = owned_trees();
        if trees.is_empty() {
            *is_running = false;
            return;
        }
        drop(is_running);
        let pass = AssertUnwindSafe(|| scan(&trees, &mut delivered));
        // The next pass finds the requests again.
        let _panicked = catch_unwind(pass);
    }
}

/// The pause between two passes.
const PAUSE: Duration = Duration::from_millis(100);

/// The maximum number of names that one pass reads in a folder.
const MOST_FILES: usize = 10_000;

/// Looks once into the folders of these trees. `delivered` holds the delivered files that still exist.
fn scan(trees: &[Arc<OwnedTree>], delivered: &mut BTreeSet<PathBuf>) {
    let mut folders: BTreeMap<&Path, Vec<&Arc<OwnedTree>>> = BTreeMap::new();
    for tree in trees {
        folders.entry(&tree.threads).or_default().push(tree);
    }
    let mut found = BTreeSet::new();
    for (threads, trees) in folders {
        let listed = folder(threads).map(fs::read_dir);
        let entries = listed.into_iter().flatten().flatten().flatten();
        for entry in entries.take(MOST_FILES) {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
            let is_of = |tree: &&&Arc<OwnedTree>| name.starts_with(&format!("{}.", tree.root));
            let path = entry.path();
            if let Some(tree) = trees.iter().find(is_of)
                && (delivered.contains(&path) || deliver(tree, name, &path))
            {
                found.insert(path);
            }
        }
    }
    *delivered = found;
}

/// Gives the request to the driver of its thread, or to any driver of the tree.
///
/// Returns `false` without a driver, so that the next pass finds the request again. A request for another instance,
/// whose owner has ended, is removed unread.
fn deliver(tree: &OwnedTree, name: &str, path: &Path) -> bool {
    let is_ours = name.starts_with(&prefix(&tree.root, &tree.owner.instance));
    let Some(request) = is_ours.then(|| read(path, &tree.owner.instance)).flatten() else {
        if tree.is_owned() {
            // A file that cannot be removed is not obeyed either.
            let _stays = fs::remove_file(path);
        }
        return false;
    };
    let inboxes = tree.inboxes();
    let knows = inboxes.iter().find(|inbox| inbox.knows(&request.request.thread));
    let Some(inbox) = knows.or(inboxes.first()) else { return false };
    inbox.receive(request);
    true
}
