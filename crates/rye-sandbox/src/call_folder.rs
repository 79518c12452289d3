//! The folder of a call, open: the script, the temporary files, and the notes between the caller and the supervisor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::other_names::MountTable;
use super::path_encoding;
use super::temporary::TemporaryFolder;

/// The part of a call's folder that is the program's own. It also stands in the place of `/tmp`, so that it holds the mount
/// points of everything below that.
pub(crate) const OWN: &str = "tmp";

/// The part of a call's folder that stays empty.
pub(crate) const START: &str = "start";

/// The part of a call's folder that stands in the place of shared memory.
pub(crate) const SHARED: &str = "shm";

/// The size of the largest note that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A folder at a path, with its identity. Whoever opens the path checks that it still leads to the same folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownFolder {
    #[serde(with = "path_encoding::one")]
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl KnownFolder {
    /// Remembers the folder to which a path leads now, by its path without links.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let found = path.symlink_metadata()?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder as a place, which needs no right to list it. If the path leads to another one by now, that is
    /// an error.
    pub(crate) fn open(&self) -> io::Result<File> {
        let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(CWD, &self.path, flags, Mode::empty());
        self.check_identity(opened.map_err(|error| self.explain(&error.into()))?.into())
    }

    /// Returns an open file if it is this folder.
    pub(crate) fn check_identity(&self, opened: File) -> io::Result<File> {
        let found = opened.metadata()?;
        match (found.dev(), found.ino()) == (self.device, self.inode) {
            true => Ok(opened),
            false => Err(self.explain(&io::Error::other("another folder was put in its place"))),
        }
    }

    /// Returns an error that names the folder.
    fn explain(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("`{}`: {error}", self.path.display()))
    }
}

/// Opens a place only, on systems that have that.
const PLACE: OFlags =
    if cfg!(target_os = "linux") { OFlags::from_bits_retain(0o10_000_000) } else { OFlags::RDONLY };

/// A folder in which the folders of calls are made. It lies outside of everything that programs of the project may
/// change.
#[derive(Debug, Clone)]
pub(crate) struct FolderOfCalls(KnownFolder);

impl FolderOfCalls {
    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::PermissionDenied`] if the folder has a name in the project, also by another mount. The
    /// system's error otherwise.
    pub(crate) fn open(path: &Path, project: &Path) -> io::Result<Self> {
        let known = KnownFolder::of(path)?;
        known.open()?;
        let others = MountTable::read()?.names_of(&known.path).whole;
        let mut names = [known.path.clone()].into_iter().chain(others);
        let within = names.find(|name| name.starts_with(project));
        match within {
            None => Ok(Self(known)),
            Some(name) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "`{}` lies in the project, where programs could replace the scripts of other calls; set `TMPDIR` to a folder outside of the project",
                    name.display()
                ),
            )),
        }
    }
}

/// The new folder of one call. Only this user can enter it. Dropping the value removes it.
#[derive(Debug)]
pub(crate) struct CallFolder {
    notes: Notes,
    known: KnownFolder,
    // Removed after the open folder is closed.
    _temporary: TemporaryFolder,
}

impl CallFolder {
    /// Makes the folder with its parts.
    pub(crate) fn new_in(calls: &FolderOfCalls) -> io::Result<Self> {
        let temporary = TemporaryFolder::new_in(&calls.0.path)?;
        let known = KnownFolder::of(temporary.path())?;
        let folder = known.open()?;
        let parent = openat(&folder, "..", PLACE | OFlags::CLOEXEC, Mode::empty())?;
        calls.0.check_identity(parent.into())?;
        for name in [OWN, SHARED, START] {
            mkdirat(&folder, name, Mode::RWXU)?;
        }
        Ok(Self { notes: Notes(folder), known, _temporary: temporary })
    }

    pub(crate) fn path(&self) -> &Path {
        self.known.path()
    }

    pub(crate) fn identity(&self) -> &KnownFolder {
        &self.known
    }

    pub(crate) fn notes(&self) -> &Notes {
        &self.notes
    }
}

/// The files of an open call folder that the caller and the supervisor write for each other.
#[derive(Debug)]
pub(crate) struct Notes(File);

impl Notes {
    /// The note of the caller that exists while it waits for the result.
    pub(crate) const AWAITED: &str = "awaited";

    /// The note of the supervisor that exists once all processes of the program have ended, while it checks the
    /// project.
    pub(crate) const ENDED: &str = "ended";

    /// Opens the folder of a call in the supervisor.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(known: &KnownFolder) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // An open place cannot be locked.
        Ok(Self(openat(known.open()?, ".", flags, Mode::empty())?.into()))
    }

    /// Makes a file. An older one with its name goes first, so that this never writes what a program has opened.
    pub(crate) fn write(&self, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.remove(name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_raw_mode(mode))?;
        File::from(file).write_all(bytes)
    }

    /// Returns `true` if there is a plain file with this name.
    pub(crate) fn exists(&self, name: &str) -> bool {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| is_plain(found.st_mode))
    }

    /// Removes a file. A missing file is no error.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a plain file of bounded size.
    pub(crate) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let found = fstat(&file)?;
        if !is_plain(found.st_mode) || u64::try_from(found.st_size).is_ok_and(|size| size > LONGEST)
        {
            return Err(io::Error::other("it is no plain file of this size"));
        }
        let mut bytes = Vec::new();
        File::from(file).take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Marks the folder as used while the value lives, even if the caller is gone.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold(&self) {
        super::temporary::hold(&self.0.as_fd());
    }
}

fn is_plain(mode: u32) -> bool {
    rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::RegularFile
}
