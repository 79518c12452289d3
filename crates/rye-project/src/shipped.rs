//! The system space that is compiled into the program (SPEC 2.9).

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use rye_resolve::ShippedFile;

static STD: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/std");

static FILES: LazyLock<Vec<ShippedFile>> = LazyLock::new(|| {
    let mut files = Vec::new();
    collect(&STD, &mut files);
    files.sort_unstable_by_key(|file| file.path);
    files
});

/// The files of the shipped system space, sorted by path, each as it stands in the source.
#[must_use]
pub fn shipped_files() -> &'static [ShippedFile] {
    &FILES
}

fn collect(folder: &'static Dir<'static>, files: &mut Vec<ShippedFile>) {
    for file in folder.files() {
        let path = file.path().to_str().expect("because the shipped files have ASCII names");
        let text = file.contents_utf8().expect("because the shipped files are UTF-8 text");
        files.push(ShippedFile { path, text });
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_every_kind_of_item_in_path_order() {
        let paths: Vec<&str> = shipped_files().iter().map(|file| file.path).collect();
        assert!(paths.is_sorted());
        for path in [
            "config/agent/capability_risk.yaml",
            "config/agent/resilience.yaml",
            "directives/rye/agent/core/base.md",
            "knowledge/rye/agent/core/Identity.md",
            "tools/rye/file-system/read.yaml",
        ] {
            assert!(paths.contains(&path), "{path}");
        }
    }
}
