//! The files of a project's policy, each with its digest.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use rye_sign::Digest;
use rye_thread::read_plain;

use super::PolicyError;
use crate::place::LONGEST_FILE;

/// The places of the policy below the project.
const PLACES: [&str; 3] = [".ai/config", ".ai/tools/rye/agent/providers", ".ai/rye.lock"];

/// The most bytes of all files together, which each run reads.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The most files and folders, and the greatest depth: a loop of links is refused, not followed for ever.
const MOST: usize = 10_000;
const DEEPEST: usize = 32;

/// SHA-256 by path in the project. Links are followed, because Rye reads what they lead to.
pub(super) fn files(project: &Path) -> Result<BTreeMap<String, String>, PolicyError> {
    let mut walk = Walk { files: BTreeMap::new(), seen: 0, bytes: 0 };
    for place in PLACES {
        walk.add(&project.join(place), place.to_owned(), 0)?;
    }
    Ok(walk.files)
}

struct Walk {
    files: BTreeMap<String, String>,
    seen: usize,
    bytes: u64,
}

impl Walk {
    fn add(&mut self, path: &Path, name: String, depth: usize) -> Result<(), PolicyError> {
        let failed = |source| PolicyError::Unreadable { path: name.clone(), source };
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
        let digest = if found.is_file() {
            self.bytes = self.bytes.saturating_add(found.len());
            if MOST_BYTES < self.bytes {
                let limit = format!("the files have more than {MOST_BYTES} bytes together");
                return Err(failed(io::Error::other(limit)));
            }
            Digest::of(&read_plain(path, LONGEST_FILE).map_err(failed)?).to_string()
        } else {
            "neither a file nor a folder".to_owned()
        };
        drop(self.files.insert(name, digest));
        Ok(())
    }

    fn add_folder(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), PolicyError> {
        let failed = |source| PolicyError::Unreadable { path: name.to_owned(), source };
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = format!("{name}/{}", escape_name(&entry.file_name()));
            self.add(&entry.path(), name, depth + 1)?;
        }
        Ok(())
    }

    /// A link that leads nowhere is something, and nothing is nothing.
    fn missing(&mut self, path: &Path, name: String) -> Result<(), PolicyError> {
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
