//! The name of the process that owns a thread tree, for messages and requests. No decision about ownership depends on
//! it.

use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::Path;

use rye_files::{open_with, read_plain};
use serde::{Deserialize, Serialize};

/// The process that owns a thread tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Owner {
    /// The id of the process.
    pub process: u32,
    /// The name of its machine.
    pub host: String,
    /// A random number of this acquisition. Requests name their owner by it.
    pub instance: String,
}

impl Owner {
    /// Returns the name of this process, with a new acquisition number.
    pub(super) fn new() -> Self {
        let random = RandomState::new();
        let instance = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
        Self { process: std::process::id(), host: host(), instance }
    }

    /// Writes the name into the folder of the root, which this process has locked. It is not in the locked file, so that a
    /// reader needs no lock.
    ///
    /// The file is not replaced, because some file systems reuse the number of a removed file late and search long for a
    /// free one. A reader that finds half a name finds none.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).expect("because it is plain JSON");
        empty_file(&folder.join(FILE))?.write_all(&text)
    }

    /// Empties the file, unless the name in it belongs to another acquisition.
    pub(super) fn remove(&self, folder: &Path) {
        if Self::read(folder).is_some_and(|owner| owner.instance == self.instance) {
            // Readers ignore a name that stays, because the lock is free.
            let _stays = empty_file(&folder.join(FILE));
        }
    }

    /// Reads the name of the process that holds the lock. Returns `None` without a readable name.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let bytes = read_plain(&folder.join(FILE), MOST_BYTES).ok()?;
        serde_json::from_slice::<Self>(&bytes).ok().filter(Self::is_plain)
    }

    /// Returns the owner of a lock without a name.
    pub(super) fn unknown() -> Self {
        Self { process: 0, host: String::new(), instance: String::new() }
    }

    /// Returns `true` if the name is safe to print and to use in a file name, because the project may supply the file.
    fn is_plain(&self) -> bool {
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        self.instance.len() == 32
            && self.instance.bytes().all(|byte| byte.is_ascii_hexdigit())
            && self.host.len() <= 255
            && self.host.chars().all(is_host)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.process, self.host.as_str()) {
            (0, _) => f.write_str("another process"),
            (process, "") => write!(f, "process {process}"),
            (process, host) => write!(f, "process {process} on {host}"),
        }
    }
}

/// Empties the file, or creates it. A link in its place is replaced, because the project may supply one.
fn empty_file(path: &Path) -> io::Result<File> {
    match open_with(path, File::options().write(true)) {
        Ok(file) if !has_other_names(&file)? => file.set_len(0).map(|()| file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => File::create_new(path),
        _ => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
    }
}

/// Returns `true` for a file that has a second name, which may be of a file elsewhere.
#[cfg(unix)]
pub(crate) fn has_other_names(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(file.metadata()?.nlink() != 1)
}

#[cfg(not(unix))]
pub(crate) fn has_other_names(_: &File) -> io::Result<bool> {
    Ok(true)
}

const FILE: &str = "owner";
const MOST_BYTES: u64 = 4_096;

#[cfg(unix)]
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' })
        .take(255)
        .collect()
}

#[cfg(not(unix))]
fn host() -> String {
    String::new()
}
