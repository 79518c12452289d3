//! Folder trees with exceptions, for Landlock. Landlock grants access to folders and cannot exclude their
//! parts.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the fewest paths that cover everything below `folder` except for `hidden`.
///
/// On the way to a hidden path, each of its siblings is listed. Siblings that are made later are not covered.
/// Links are left out, because access to a target depends on the target's own path.
pub(super) fn without(folder: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    Holes::new(hidden).list_open(folder)
}

/// The number of a device and of a file on it. Landlock attaches access to these and not to paths, so that access to a
/// folder by one name is access by all names, also to what is mounted below another name.
type Number = (u64, u64);

/// The hidden paths with the numbers of all folders on the way to them.
struct Holes<'a> {
    hidden: &'a [PathBuf],
    numbers: BTreeSet<Number>,
    above: BTreeSet<Number>,
}

impl<'a> Holes<'a> {
    fn new(hidden: &'a [PathBuf]) -> Self {
        let numbers = hidden.iter().filter_map(|path| number(path)).collect();
        let folders = hidden.iter().flat_map(|path| path.ancestors().skip(1));
        let folders: BTreeSet<&Path> = folders.collect();
        Self { hidden, numbers, above: folders.into_iter().filter_map(number).collect() }
    }

    fn list_open(&self, folder: &Path) -> Vec<PathBuf> {
        let is =
            |numbers: &BTreeSet<Number>| number(folder).is_some_and(|it| numbers.contains(&it));
        if self.hidden.iter().any(|path| folder.starts_with(path)) || is(&self.numbers) {
            return Vec::new();
        }
        if !self.hidden.iter().any(|path| path.starts_with(folder)) && !is(&self.above) {
            return vec![folder.to_owned()];
        }
        let listed = fs::read_dir(folder).into_iter().flatten().flatten();
        let kept = listed.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        kept.flat_map(|entry| self.list_open(&entry.path())).collect()
    }
}

fn number(path: &Path) -> Option<Number> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hidden: &[&str], expected: &[&str]) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        for folder in ["home/.ssh", "home/.config/gh", "home/.config/git", "usr/bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("home/.netrc"), "").unwrap();
        std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("link")).unwrap();
        let hidden: Vec<PathBuf> = hidden.iter().map(|path| root.join(path)).collect();
        let mut given = without(&root, &hidden);
        given.sort();
        let expected: Vec<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
        assert_eq!(given, expected);
    }

    #[test]
    fn a_hole_is_everything_but_itself() {
        check(&["home/.ssh"], &["home/.config", "home/.netrc", "usr"]);
        check(&["home/.config/gh", "home/.netrc"], &["home/.config/git", "home/.ssh", "usr"]);
        check(&["home"], &["usr"]);
        check(&["home/.ssh/id_rsa"], &["home/.config", "home/.netrc", "usr"]);
        check(&["elsewhere"], &["home", "usr"]);
    }

    #[test]
    fn nothing_hidden_is_the_folder_itself() {
        let folder = Path::new("/nowhere");
        assert_eq!(without(folder, &[PathBuf::from("/other")]), [folder]);
        assert_eq!(without(folder, &[folder.to_owned()]), Vec::<PathBuf>::new());
    }
}
