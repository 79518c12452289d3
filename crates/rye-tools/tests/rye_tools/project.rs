//! A project to try things in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rye_tools::fs::Root;
use tempfile::TempDir;

/// A project beside a folder that it must not reach.
pub(crate) struct Project {
    outer: TempDir,
    pub(crate) root: Root,
}

impl Project {
    pub(crate) fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("project")).unwrap();
        let root = Root::open(&outer.path().join("project")).unwrap();
        Self { outer, root }
    }

    pub(crate) fn outer(&self) -> &Path {
        self.outer.path()
    }

    /// Writes a file by its path below the folder that holds the project.
    #[track_caller]
    pub(crate) fn file(&self, path: &str, content: &str) {
        let path = self.outer().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Everything in and beside the project: content of files, targets of links, modes of folders.
    pub(crate) fn everything(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        collect(self.outer(), self.outer(), &mut all);
        all
    }

    /// What came, went or became something else, by path.
    pub(crate) fn changes_since(&self, before: &BTreeMap<String, String>) -> Vec<String> {
        let now = self.everything();
        let changed =
            now.keys().chain(before.keys()).filter(|path| now.get(*path) != before.get(*path));
        changed.cloned().collect()
    }
}

fn collect(base: &Path, folder: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = format!("{:?}", metadata.permissions());
        let what = if metadata.is_symlink() {
            format!("link {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_file() {
            format!("file {mode} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
        } else {
            format!("{:?} {mode}", metadata.file_type())
        };
        all.insert(path.strip_prefix(base).unwrap().display().to_string(), what);
        if metadata.is_dir() {
            collect(base, &path, all);
        }
    }
}
