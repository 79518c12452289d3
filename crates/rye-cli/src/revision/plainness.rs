//! Check that a repository consists of plain files.
//!
//! The library for repositories opens every file. It would wait for a pipe, and might read a device without
//! end.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use rye::files::read_plain;

use crate::failure::Failure;

/// The size of the largest file with the path of a folder, in bytes.
const MOST: u64 = 1 << 16;

/// Checks the repository of `project`.
pub(super) fn look_through(project: &Path) -> Result<(), Failure> {
    for folder in project.ancestors() {
        let git = folder.join(".git");
        match fs::metadata(&git) {
            Ok(found) if found.is_dir() => return look_into(&git),
            Ok(found) if found.is_file() => return look_into_worktree(folder, &git),
            // The folder may seem to be a bare repository.
            _ => look_at(&folder.join("HEAD"))?,
        }
    }
    Ok(())
}

/// Checks a linked worktree. It names its part of the repository, and this part names the whole.
fn look_into_worktree(folder: &Path, git: &Path) -> Result<(), Failure> {
    let Some(part) =
        read_small(git)?.and_then(|text| Some(folder.join(text.strip_prefix("gitdir:")?.trim())))
    else {
        return Ok(());
    };
    look_into(&part)?;
    let common = part.join("commondir");
    match common.is_file().then(|| read_small(&common)).transpose()?.flatten() {
        Some(whole) => look_into(&part.join(whole.trim())),
        None => Ok(()),
    }
}

/// Reads a small file. Returns `None` if it is not text.
fn read_small(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = read_plain(path, MOST).map_err(|source| Failure::io("read", path, &source))?;
    Ok(String::from_utf8(bytes).ok())
}

/// Checks every file below the folder. Links are checked but not followed, so that the walk ends.
fn look_into(folder: &Path) -> Result<(), Failure> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // The library reports folders that cannot be listed.
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            folders.extend(inner(&entry)?);
        }
    }
    Ok(())
}

/// Returns the path of the entry if it is a folder.
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

/// Returns `true` if the file can be opened and read to its end. Sockets count, because git itself leaves
/// them in repositories, and they cannot be opened.
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

    /// Returns the message about the project in `below`, with the device at `device`.
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
