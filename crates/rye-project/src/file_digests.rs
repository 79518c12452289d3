//! Files below a folder, each with its digest, and how they differ from those of another time or machine.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use rye_files::{Refusal, read_plain};
use rye_sign::Digest;

use crate::place::LONGEST_FILE;

/// The files that differ from those of before, each by its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChanges {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files with another text.
    pub changed: Vec<String>,
    /// Files that are not there any more.
    pub removed: Vec<String>,
}

impl FileChanges {
    /// Returns `true` if no file differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// Compares two maps of digests by path.
    pub(crate) fn between(
        before: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
    ) -> Self {
        let of = |files: &BTreeMap<String, String>, is_meant: &dyn Fn(&str, &str) -> bool| {
            let meant = files.iter().filter(|(path, digest)| is_meant(path, digest));
            meant.map(|(path, _)| path.clone()).collect()
        };
        Self {
            added: of(now, &|path, _| !before.contains_key(path)),
            changed: of(now, &|path, digest| before.get(path).is_some_and(|it| it != digest)),
            removed: of(before, &|path, _| !now.contains_key(path)),
        }
    }
}

impl fmt::Display for FileChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [("added", &self.added), ("changed", &self.changed), ("removed", &self.removed)];
        let told = rows.iter().filter(|(_, paths)| !paths.is_empty());
        let told = told.map(|(word, paths)| format!("{word} `{}`", paths.join("`, `")));
        f.write_str(&told.collect::<Vec<_>>().join("; "))
    }
}

/// A file or folder that cannot be read, so that nothing can be said of it.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be read")]
#[non_exhaustive]
pub struct UnreadableFile {
    /// The path below the folder.
    pub path: String,
    /// The reason.
    pub source: io::Error,
}

/// The most bytes of all files together, which each run reads.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The most files and folders, and the greatest depth: a loop of links is refused, not followed for ever.
const MOST: usize = 10_000;
const DEEPEST: usize = 32;

/// Returns the SHA-256 of each file at or below these places of a folder, by its path there.
///
/// Links are followed, because Rye reads what they lead to. A place that is not there has no files.
pub(crate) fn file_digests(
    folder: &Path,
    places: &[&str],
) -> Result<BTreeMap<String, String>, UnreadableFile> {
    file_digests_except(folder, places, "")
}

/// Does the same without the file or folder at the path `except`, which is not read.
pub(crate) fn file_digests_except(
    folder: &Path,
    places: &[&str],
    except: &str,
) -> Result<BTreeMap<String, String>, UnreadableFile> {
    let mut walk = Walk { files: BTreeMap::new(), seen: 0, bytes: 0, except };
    for place in places {
        walk.add(&folder.join(place), (*place).to_owned(), 0)?;
    }
    Ok(walk.files)
}

struct Walk<'a> {
    files: BTreeMap<String, String>,
    seen: usize,
    bytes: u64,
    except: &'a str,
}

impl Walk<'_> {
    fn add(&mut self, path: &Path, name: String, depth: usize) -> Result<(), UnreadableFile> {
        if name == self.except {
            return Ok(());
        }
        let failed = |source| UnreadableFile { path: name.clone(), source };
        self.seen += 1;
        if self.seen > MOST || depth > DEEPEST {
            let limits = format!("there are more than {MOST} files, or more than {DEEPEST} levels");
            return Err(failed(io::Error::other(limits)));
        }
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.missing(path, name);
            }
            found => found.map_err(failed)?,
        };
        if found.is_dir() {
            return self.add_folder(path, &name, depth);
        }
        let digest = match read_plain(path, LONGEST_FILE) {
            Err(error) if Refusal::of(&error) == Some(Refusal::NotPlain) => {
                "neither a file nor a folder".to_owned()
            }
            read => {
                let bytes = read.map_err(failed)?;
                self.bytes = self.bytes.saturating_add(bytes.len() as u64);
                if MOST_BYTES < self.bytes {
                    let limit = format!("the files have more than {MOST_BYTES} bytes together");
                    return Err(failed(io::Error::other(limit)));
                }
                Digest::of(&bytes).to_string()
            }
        };
        drop(self.files.insert(name, digest));
        Ok(())
    }

    fn add_folder(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), UnreadableFile> {
        let failed = |source| UnreadableFile { path: name.to_owned(), source };
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = format!("{name}/{}", escape_name(&entry.file_name()));
            self.add(&entry.path(), name, depth + 1)?;
        }
        Ok(())
    }

    /// A link that leads nowhere is something, and nothing is nothing.
    fn missing(&mut self, path: &Path, name: String) -> Result<(), UnreadableFile> {
        if fs::symlink_metadata(path).is_ok() {
            drop(self.files.insert(name, "a link that leads nowhere".to_owned()));
        }
        Ok(())
    }
}

/// The name as text; one that is no UTF-8 with its bytes spelled out, so that no two names are one.
fn escape_name(name: &OsStr) -> String {
    name.to_str().map_or_else(|| format!("{name:?}"), str::to_owned)
}
