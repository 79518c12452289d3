//! Notes that outlive a supervisor: which repositories a project had before a program started.
//!
//! A note is locked for as long as its supervisor lives. One that is there and not locked belongs to a supervisor that was killed;
//! the next one in the same project does its work.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use super::account::Moved;
use super::encoded;
use super::fault::Fault;
use super::layout::Identity;
use super::survey::Survey;

/// The longest note that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The most notes of one process number.
const NOTES: usize = 1_000;

/// One note.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    #[serde(with = "encoded::one")]
    project: PathBuf,
    /// The repositories that were there, unless all is done.
    known: Option<BTreeSet<Identity>>,
    /// Repositories that were renamed, which no caller has read of yet.
    moved: Vec<Moved>,
}

/// The note of a program under way.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    project: PathBuf,
    path: PathBuf,
    /// Locked.
    file: File,
}

impl Journal {
    /// Begins a note, after the work of supervisors that were killed is done. Returns also what that came to.
    pub(super) fn begin(folder: &Path, project: &Path) -> Result<(Self, Vec<Moved>), Fault> {
        let action = format!("keep notes in `{}`", folder.display());
        make_folder(folder).map_err(Fault::at(&action))?;
        let lock = options().create(true).open(folder.join("lock")).map_err(Fault::at(&action))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(Fault::at(&action))?;
        let moved = finish_others(folder, project)?;
        let (path, file) = create(folder, project).map_err(Fault::at(&action))?;
        let (folder, project) = (folder.to_owned(), project.to_owned());
        Ok((Self { folder, project, path, file }, moved))
    }

    /// Notes what is there, before the program starts.
    pub(super) fn write(&mut self, known: &BTreeSet<Identity>) -> Result<(), Fault> {
        let action = format!("write `{}`", self.path.display());
        let note =
            Note { project: self.project.clone(), known: Some(known.clone()), moved: Vec::new() };
        let text = serde_json::to_vec(&note).map_err(Fault::at(&action))?;
        self.file.set_len(0).map_err(Fault::at(&action))?;
        let rewound = io::Seek::rewind(&mut self.file);
        rewound.and_then(|()| self.file.write_all(&text)).map_err(Fault::at(&action))
    }

    /// Takes the note away, and leaves another where nobody has read yet of what was renamed.
    pub(super) fn end(self, unread: &[Moved]) -> io::Result<()> {
        if !unread.is_empty() {
            let note = Note { project: self.project.clone(), known: None, moved: unread.to_vec() };
            let (_, mut file) = create(&self.folder, &self.project)?;
            file.write_all(&serde_json::to_vec(&note)?)?;
        }
        fs::remove_file(&self.path)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    options.read(true).write(true).mode(0o600).custom_flags(flags);
    options
}

/// A folder that belongs to this user alone: another one could make this launcher rename repositories.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    match metadata.is_dir() && is_own && metadata.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other("it is not a folder that only this user can write")),
    }
}

/// The beginning of the names of a project's notes.
fn prefix(project: &Path) -> String {
    // FNV-1a: two projects with the same number are told apart by the path in the note.
    let bytes = project.as_os_str().as_bytes().iter();
    let number = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{number:016x}-")
}

fn create(folder: &Path, project: &Path) -> io::Result<(PathBuf, File)> {
    let (prefix, own) = (prefix(project), std::process::id());
    for number in 0..NOTES {
        let path = folder.join(format!("{prefix}{own}-{number}"));
        match options().create_new(true).open(&path) {
            Ok(file) => {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                return Ok((path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Does what supervisors that were killed had still to do in the project.
fn finish_others(folder: &Path, project: &Path) -> Result<Vec<Moved>, Fault> {
    let action = format!("read notes in `{}`", folder.display());
    let prefix = prefix(project);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(Fault::at(&action))? {
        let entry = entry.map_err(Fault::at(&action))?;
        if !entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let path = entry.path();
        let Ok(mut file) = options().open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        if let Some(moved) = finish(&mut file, project)? {
            all.extend(moved);
            // One that ended by itself has taken its own away.
            let _gone = fs::remove_file(&path);
        }
    }
    Ok(all)
}

/// Does what one note asks for; `None` for a note of another project.
fn finish(file: &mut File, project: &Path) -> Result<Option<Vec<Moved>>, Fault> {
    let mut text = Vec::new();
    let read = file.take(LONGEST).read_to_end(&mut text);
    read.map_err(Fault::at("read a note"))?;
    // A supervisor that was killed before it had written all had not started anything.
    let Ok(note) = serde_json::from_slice::<Note>(&text) else { return Ok(Some(Vec::new())) };
    if note.project != project {
        return Ok(None);
    }
    let mut moved = note.moved;
    if let Some(known) = note.known {
        moved.extend(Survey::after(project, &known, None)?.moved);
    }
    Ok(Some(moved))
}
