//! This machine's files of a thread tree, which are a cache of the engine's.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rye::thread::ThreadId;

use crate::entry::Extent;

/// The folder of one tree, so that nothing that is done for the tree reads or changes files of another one.
#[derive(Debug, Clone)]
pub struct TreeFolder(PathBuf);

impl TreeFolder {
    /// Returns the folder of the tree of `root` below that of all trees.
    pub fn of(trees: &Path, root: &ThreadId) -> Self {
        Self(trees.join(root.as_str()))
    }

    /// Returns the folder of the threads.
    pub fn threads(&self) -> PathBuf {
        self.0.join("threads")
    }

    /// Returns the file with what this machine saw of the engine's steps. It outlives the threads' files.
    pub fn progress(&self) -> PathBuf {
        self.0.join("engine.json")
    }

    /// Writes the transcripts as the engine keeps them, and returns their extents.
    ///
    /// # Errors
    ///
    /// When they name what is no thread, or a file cannot be written.
    pub fn restore(
        &self,
        transcripts: &BTreeMap<String, String>,
    ) -> anyhow::Result<BTreeMap<String, Extent>> {
        // An id is one plain name, and so is its folder.
        for thread in transcripts.keys() {
            thread.parse::<ThreadId>().with_context(|| format!("`{thread}` is no thread"))?;
        }
        self.remove_records()?;
        let written = transcripts.iter().filter(|(_, text)| !text.is_empty());
        let write = |(thread, text): (&String, &String)| {
            let folder = self.threads().join(thread);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("transcript.jsonl"), text)?;
            Ok((thread.clone(), Extent::of(text)))
        };
        written.map(write).collect()
    }

    /// Removes all records, and what is derived from them. The engine may lack what this machine recorded last, such as a child.
    ///
    /// Locks stay, because a program of a tool may still hold one.
    fn remove_records(&self) -> anyhow::Result<()> {
        let threads = match fs::read_dir(self.threads()) {
            Err(error) if error.kind() == NotFound => return Ok(()),
            threads => threads?,
        };
        for thread in threads {
            let folder = thread?.path();
            for file in ["thread.json", "transcript.md", "transcript.jsonl"] {
                let removed = fs::remove_file(folder.join(file));
                if let Err(error) = removed
                    && folder.is_dir()
                    && error.kind() != NotFound
                {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Removes the files of the threads of a tree that has ended.
    pub fn remove_threads(&self) {
        // What stays is replaced if it is needed again.
        drop(fs::remove_dir_all(self.threads()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "count-019a0000-0000-7000-8000-000000000001";
    const CHILD: &str = "one-019a0000-0000-7000-8000-000000000002";

    fn folder(trees: &Path) -> TreeFolder {
        TreeFolder::of(trees, &ROOT.parse().unwrap())
    }

    fn transcript(folder: &TreeFolder, thread: &str) -> PathBuf {
        folder.threads().join(thread).join("transcript.jsonl")
    }

    #[test]
    fn the_records_of_a_tree_replace_what_is_left_of_it() {
        let trees = tempfile::tempdir().unwrap();
        let tree = folder(trees.path());
        let root = tree.threads().join(ROOT);
        fs::create_dir_all(&root).unwrap();
        for old in ["thread.json", "transcript.md", "transcript.jsonl", "lock"] {
            fs::write(root.join(old), "old").unwrap();
        }
        fs::write(tree.threads().join("registry.db"), "index").unwrap();
        let transcripts = [ROOT, CHILD].map(|thread| (thread.to_owned(), "one\n".to_owned()));
        let extents = tree.restore(&transcripts.into()).unwrap();
        let extent = Extent::of("one\n");
        assert_eq!(extents, BTreeMap::from([ROOT, CHILD].map(|it| (it.to_owned(), extent))));
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "the transcript and the lock");
        assert_eq!(fs::read_to_string(transcript(&tree, ROOT)).unwrap(), "one\n");

        fs::write(tree.progress(), "seen").unwrap();
        tree.remove_threads();
        assert!(!tree.threads().exists() && tree.progress().exists());
        tree.remove_threads();
    }

    /// A killed worker had begun a child, and the engine did not keep a record of it.
    #[test]
    fn a_child_that_the_engine_does_not_know_is_removed() {
        let trees = tempfile::tempdir().unwrap();
        let tree = folder(trees.path());
        fs::create_dir_all(tree.threads().join(CHILD)).unwrap();
        fs::write(transcript(&tree, CHILD), "one\n").unwrap();
        let kept = BTreeMap::from([(ROOT, "one\n"), (CHILD, "")]);
        let kept = kept.into_iter().map(|(thread, text)| (thread.to_owned(), text.to_owned()));
        let extents = tree.restore(&kept.collect()).unwrap();
        assert_eq!(extents.into_keys().collect::<Vec<_>>(), [ROOT]);
        assert!(!transcript(&tree, CHILD).exists());
    }

    #[test]
    fn what_the_server_names_leaves_the_folder_of_the_tree_alone() {
        let trees = tempfile::tempdir().unwrap();
        let tree = folder(trees.path());
        for name in ["../x", "", "a/b"] {
            let transcripts = BTreeMap::from([(name.to_owned(), "one\n".to_owned())]);
            let error = tree.restore(&transcripts).unwrap_err().to_string();
            assert_eq!(error, format!("`{name}` is no thread"));
        }
        assert_eq!(fs::read_dir(trees.path()).unwrap().count(), 0);
    }
}
