//! Writing of several files together: all of them, or none.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rye::port::ExportedFile;
use rye::sandbox::TemporaryFolder;

use crate::failure::Failure;

/// Refuses to write where files or folders are in the way, and names all of them.
pub(super) fn refuse_existing(folder: &Path, files: &[&ExportedFile]) -> Result<(), Failure> {
    let in_the_way: Vec<String> = tops(files)
        .into_iter()
        .map(|top| folder.join(top))
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("`{}`", path.display()))
        .collect();
    match in_the_way.as_slice() {
        [] => Ok(()),
        [path] => Err(Failure::failed(format!("{path} exists and is not replaced; {ADVICE}"))),
        paths => Err(Failure::failed(format!(
            "{} exist and are not replaced; {ADVICE}",
            paths.join(", ")
        ))),
    }
}

const ADVICE: &str =
    "nothing was written; move what is there away first, or name another folder with `--to`";

/// Writes the files to a temporary folder in `folder`, and moves them to their places. If one cannot be moved, those that were moved
/// are removed again.
pub(super) fn write_together(folder: &Path, files: &[&ExportedFile]) -> Result<(), Failure> {
    let written = || {
        fs::create_dir_all(folder)?;
        let temporary = TemporaryFolder::new_in(folder)?;
        for file in files {
            let path = temporary.path().join(&file.path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, &file.text)?;
        }
        let mut moved = Vec::new();
        for top in tops(files) {
            let target = folder.join(top);
            if let Err(error) = move_new(&temporary.path().join(top), &target) {
                moved.iter().for_each(remove);
                return Err(error);
            }
            moved.push(target);
        }
        Ok(())
    };
    written().map_err(|source: io::Error| Failure::io("write", folder, &source))
}

/// Moves a file or folder to a place where nothing is. A folder takes the place of an empty one at most.
fn move_new(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        return fs::rename(from, to);
    }
    fs::hard_link(from, to)
}

/// Removes what this process wrote. What cannot be removed stays.
fn remove(path: &PathBuf) {
    let _left = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// The files and folders right below the folder of the export.
fn tops<'a>(files: &[&'a ExportedFile]) -> BTreeSet<&'a str> {
    files.iter().filter_map(|file| file.path.split('/').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_written_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a/one.md", "b.md", "c/d/two.md"].map(|path| ExportedFile::new(path, path));
        let files: Vec<&ExportedFile> = files.iter().collect();
        let to = folder.path().join("to");
        // A file that came between the look and the move.
        fs::create_dir_all(to.join("c")).unwrap();
        fs::write(to.join("c/own.md"), "own").unwrap();
        assert!(write_together(&to, &files).is_err());
        let left: Vec<_> =
            fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["c"]);
        let error = refuse_existing(&to, &files).unwrap_err();
        assert!(error.to_string().contains("c` exists and is not replaced"), "{error}");
        fs::remove_dir_all(to.join("c")).unwrap();
        refuse_existing(&to, &files).unwrap();
        write_together(&to, &files).unwrap();
        assert_eq!(fs::read_to_string(to.join("c/d/two.md")).unwrap(), "c/d/two.md");
        let left: BTreeSet<_> =
            fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}
