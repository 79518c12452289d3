//! The transcripts of a tree on this machine, which are a cache of the engine's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use rye::thread::{ThreadId, thread_root};

use crate::entry::Extent;

/// Writes the transcripts of a tree as the engine keeps them, and returns their extents.
///
/// # Errors
///
/// When they name a thread of another tree, or a file cannot be written.
pub fn restore(
    threads: &Path,
    root: &str,
    mut transcripts: BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, Extent>> {
    transcripts.entry(root.to_owned()).or_default();
    // The engine may lack what this machine recorded last, such as a child. It must not be continued.
    for thread in threads_of(threads, root)? {
        transcripts.entry(thread).or_default();
    }
    let ids: BTreeMap<ThreadId, &String> = transcripts
        .iter()
        .map(|(thread, text)| {
            // An id is one plain name, and so is its folder.
            let id = thread.parse().with_context(|| format!("`{thread}` is no thread"))?;
            Ok((id, text))
        })
        .collect::<anyhow::Result<_>>()?;
    // What the server names must not replace records of another tree, which may be on this machine alone.
    for id in ids.keys() {
        // A first record that a full disk or a killed process left unfinished has no root.
        if thread_root(threads, id).is_some_and(|other| other.as_str() != root) {
            anyhow::bail!(
                "the engine's records of `{root}` name `{id}`, which is in another tree here"
            );
        }
    }
    let mut extents = BTreeMap::new();
    for (id, text) in ids {
        let folder = threads.join(id.as_str());
        for old in ["thread.json", "transcript.md", "transcript.jsonl"] {
            match fs::remove_file(folder.join(old)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        if !text.is_empty() {
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("transcript.jsonl"), text)?;
            extents.insert(id.as_str().to_owned(), Extent::of(text));
        }
    }
    Ok(extents)
}

/// Returns the threads of a tree that this machine has a first record of.
fn threads_of(threads: &Path, root: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(threads) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<ThreadId>().ok()) else {
            continue;
        };
        if thread_root(threads, &id).is_some_and(|other| other.as_str() == root) {
            found.push(id.as_str().to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "count-019a0000-0000-7000-8000-000000000001";
    const CHILD: &str = "one-019a0000-0000-7000-8000-000000000002";

    /// The first record of a thread, as far as its root is read from it.
    fn start(root: &str) -> String {
        format!("{{\"payload\":{{\"root\":\"{root}\"}}}}\n")
    }

    #[test]
    fn the_records_of_a_tree_replace_what_is_left_of_it() {
        let threads = tempfile::tempdir().unwrap();
        let folder = threads.path().join(ROOT);
        fs::create_dir(&folder).unwrap();
        for derived in ["thread.json", "transcript.md"] {
            fs::write(folder.join(derived), "old").unwrap();
        }
        fs::write(folder.join("transcript.jsonl"), start(ROOT) + "more\n").unwrap();
        let transcripts = [ROOT, CHILD].map(|thread| (thread.to_owned(), start(ROOT)));
        let extents = restore(threads.path(), ROOT, transcripts.into()).unwrap();
        let extent = Extent::of(&start(ROOT));
        assert_eq!(extents, BTreeMap::from([ROOT, CHILD].map(|it| (it.to_owned(), extent))));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(folder.join("transcript.jsonl")).unwrap(), start(ROOT));
    }

    /// A killed worker had begun a child, and the engine did not keep a record of it.
    #[test]
    fn a_child_that_the_engine_does_not_know_is_removed() {
        let threads = tempfile::tempdir().unwrap();
        let other = "one-019a0000-0000-7000-8000-000000000003";
        for (thread, root) in [(CHILD, ROOT), (other, other)] {
            fs::create_dir(threads.path().join(thread)).unwrap();
            fs::write(threads.path().join(thread).join("transcript.jsonl"), start(root)).unwrap();
        }
        let transcripts = BTreeMap::from([(ROOT.to_owned(), start(ROOT))]);
        let extents = restore(threads.path(), ROOT, transcripts).unwrap();
        assert_eq!(extents.into_keys().collect::<Vec<_>>(), [ROOT]);
        assert!(!threads.path().join(CHILD).join("transcript.jsonl").exists());
        assert!(threads.path().join(other).join("transcript.jsonl").exists());
    }

    /// A full disk leaves a file without a whole first record.
    #[test]
    fn a_torn_file_is_replaced() {
        let threads = tempfile::tempdir().unwrap();
        let path = threads.path().join(ROOT).join("transcript.jsonl");
        fs::create_dir(threads.path().join(ROOT)).unwrap();
        fs::write(&path, "{\"pay").unwrap();
        restore(threads.path(), ROOT, BTreeMap::from([(ROOT.to_owned(), start(ROOT))])).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), start(ROOT));
    }

    #[test]
    fn what_the_server_names_replaces_no_other_tree() {
        let threads = tempfile::tempdir().unwrap();
        let folder = threads.path().join(CHILD);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("transcript.jsonl"), start(CHILD)).unwrap();
        let transcripts = [ROOT, CHILD].map(|thread| (thread.to_owned(), start(ROOT)));
        let error = restore(threads.path(), ROOT, transcripts.into()).unwrap_err();
        assert!(error.to_string().contains("another tree"), "{error}");
        assert_eq!(fs::read_to_string(folder.join("transcript.jsonl")).unwrap(), start(CHILD));
        for name in ["../x", "", "a/b"] {
            let transcripts = BTreeMap::from([(name.to_owned(), start(ROOT))]);
            restore(threads.path(), ROOT, transcripts).unwrap_err();
        }
    }
}
