//! The files of a folder, without the results of builds and runs.

use std::{fs, path::Path};

/// Names or ends of paths without files of authors. In a worktree, `.git` is a file.
const SKIPPED: &[&str] = &[
    ".git",
    "target",
    "node_modules",
    "fuzz/corpus",
    "fuzz/found",
    "fuzz/artifacts",
    ".ai/threads",
];

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// The path relative to the folder that was read, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// The file's name without its folder.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Reads every UTF-8 file below `root`, sorted by path. Links are left out, because their targets are read at
/// their own places.
pub(crate) fn read(root: &Path) -> Vec<File> {
    let mut files = Vec::new();
    visit(root, "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn visit(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    // A file that cannot be read may be a temporary one that was removed meanwhile.
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let Ok(kind) = entry.file_type() else { continue };
        if is_skipped(&path) {
            continue;
        }
        if kind.is_dir() {
            visit(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
}

fn is_skipped(path: &str) -> bool {
    SKIPPED.iter().any(|skipped| path == *skipped || path.ends_with(&format!("/{skipped}")))
}
