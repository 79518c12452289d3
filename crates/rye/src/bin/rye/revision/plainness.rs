//! Whether a repository is made of files that can be read to their end.
//!
//! The library that reads repositories opens whatever lies there: a pipe is waited for, and a device may never end.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use rye::thread::read_plain;

use crate::failure::Failure;

/// More than any file has that names a folder.
const MOST: u64 = 1 << 16;

/// Looks through the repository that `project` lies in.
pub(super) fn look_through(project: &Path) -> Result<(), Failure> {
    for folder in project.ancestors() {
        let git = folder.join(".git");
        match fs::metadata(&git) {
            Ok(found) if found.is_dir() => return look_into(&git),
            Ok(found) if found.is_file() => return linked(folder, &git),
            // It may look like a repository without files beside it.
            _ => look_at(&folder.join("HEAD"))?,
        }
    }
    Ok(())
}

/// A further working tree names its part of the repository, and that part names the whole.
fn linked(folder: &Path, git: &Path) -> Result<(), Failure> {
    let Some(part) =
        named(git)?.and_then(|text| Some(folder.join(text.strip_prefix("gitdir:")?.trim())))
    else {
        return Ok(());
    };
    look_into(&part)?;
    let common = part.join("commondir");
    match common.is_file().then(|| named(&common)).transpose()?.flatten() {
        Some(whole) => look_into(&part.join(whole.trim())),
        None => Ok(()),
    }
}

/// The text of a small file; what is no text names nothing.
fn named(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = read_plain(path, MOST).map_err(|source| Failure::io("read", path, &source))?;
    Ok(String::from_utf8(bytes).ok())
}

/// Every file below the folder. Links are looked at and folders behind them are not, so that it ends.
fn look_into(folder: &Path) -> Result<(), Failure> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be listed is the library's to tell of.
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            folders.extend(inner(&entry)?);
        }
    }
    Ok(())
}

/// The entry when it is a folder.
fn inner(entry: &fs::DirEntry) -> Result<Option<PathBuf>, Failure> {
    match entry.file_type() {
        Ok(found) if found.is_dir() => Ok(Some(entry.path())),
        Ok(found) if found.is_file() => Ok(None),
        _ => look_at(&entry.path()).map(|()| None),
    }
}

fn look_at(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(found) if !ends(found.file_type()) => Err(Failure::failed(format!(
            "`{}` is not a plain file, so the repository is not read; move it away",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Whether opening and reading it comes to an end. Git itself leaves sockets in a repository, which nothing can open.
fn ends(found: FileType) -> bool {
    #[cfg(unix)]
    let is_socket = std::os::unix::fs::FileTypeExt::is_socket(&found);
    #[cfg(not(unix))]
    let is_socket = false;
    found.is_file() || found.is_dir() || is_socket
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[track_caller]
    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What is said of the project in `below`, with the device at `device`.
    #[track_caller]
    fn check(below: &str, device: Option<&str>, is_refused: bool) {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(&root.join("whole/.git/objects/info/packs"), "");
        put(&root.join("whole/.git/worktrees/tree/commondir"), "../..\n");
        put(&root.join("whole/inner/a"), "");
        put(&root.join("tree/.git"), "gitdir: ../whole/.git/worktrees/tree\n");
        symlink(root, root.join("whole/.git/round")).unwrap();
        symlink("nowhere", root.join("whole/.git/broken")).unwrap();
        let _listener = UnixListener::bind(root.join("whole/.git/fsmonitor--daemon.ipc")).unwrap();
        if let Some(device) = device {
            symlink("/dev/zero", root.join(device)).unwrap();
        }
        let said = look_through(&root.join(below)).err().map(|failure| failure.to_string());
        assert_eq!(said.is_some(), is_refused, "{device:?}: {said:?}");
        let ending = "is not a plain file, so the repository is not read; move it away";
        assert!(said.is_none_or(|said| said.ends_with(ending)));
    }

    #[test]
    fn a_repository_that_would_never_be_read_is_refused() {
        check("whole", None, false);
        check("whole/inner", None, false);
        check("tree", None, false);
        check("whole", Some("whole/.git/HEAD"), true);
        check("whole/inner", Some("whole/.git/objects/info/alternates"), true);
        check("whole/inner", Some("whole/inner/HEAD"), true);
        check("whole", Some("whole/HEAD"), false);
        check("tree", Some("whole/.git/worktrees/tree/HEAD"), true);
        check("tree", Some("whole/.git/config"), true);
        check("whole", Some("tree/HEAD"), false);
    }
}
