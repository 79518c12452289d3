//! Notes that outlive a supervisor: what a project had before a program started.
//!
//! A note is locked for as long as its supervisor lives. One that is there and not locked belongs to a supervisor that was killed;
//! the next one in the same project does its work.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::account::{Excerpt, Moved};
use super::encoded;
use super::fault::Fault;
use super::layout::Identity;
use super::survey::Survey;

/// The longest note that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The most notes of one process number.
const NOTES: usize = 1_000;

/// How long another program may work on the notes.
const PATIENCE: Duration = Duration::from_secs(60);

/// One note.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    #[serde(with = "encoded::one")]
    project: PathBuf,
    /// What was there, unless all is done.
    known: Option<BTreeSet<Identity>>,
    /// What was renamed, which no caller has read of yet.
    moved: Excerpt<Moved>,
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
    pub(super) fn begin(folder: &Path, project: &Path) -> Result<(Self, Excerpt<Moved>), Fault> {
        let action = format!("keep notes in `{}`", folder.display());
        make_folder(folder).map_err(Fault::at(&action))?;
        let lock = options().create(true).open(folder.join("lock")).map_err(Fault::at(&action))?;
        wait_for(&lock).map_err(Fault::at(&action))?;
        let moved = finish_others(folder, project)?;
        let (path, file) = create(folder, project).map_err(Fault::at(&action))?;
        let (folder, project) = (folder.to_owned(), project.to_owned());
        Ok((Self { folder, project, path, file }, moved))
    }

    /// Hands over what each other program of the project found when it started, where its work is not done. One that has no whole
    /// note yet has started nothing.
    pub(super) fn others(&self, mut found: impl FnMut(&BTreeSet<Identity>)) -> Result<(), Fault> {
        for path in notes(&self.folder, &self.project)?.filter(|path| *path != self.path) {
            let Ok(mut file) = options().open(&path) else { continue };
            let note = Note::read(&mut file)?.filter(|note| note.project == self.project);
            note.and_then(|note| note.known).iter().for_each(&mut found);
        }
        Ok(())
    }

    /// Notes what is there, before the program starts, and what was renamed that no caller has read of yet.
    pub(super) fn write(
        &mut self,
        known: &BTreeSet<Identity>,
        moved: &Excerpt<Moved>,
    ) -> Result<(), Fault> {
        let (project, known) = (self.project.clone(), Some(known.clone()));
        let note = Note { project, known, moved: moved.clone() };
        let action = format!("write `{}`", self.path.display());
        note.write(&mut self.file).map_err(Fault::at(&action))
    }

    /// Leaves the note for the next program, whose supervisor looks at the project first.
    pub(super) fn leave(
        mut self,
        known: &BTreeSet<Identity>,
        unread: &Excerpt<Moved>,
    ) -> Result<(), Fault> {
        self.write(known, unread)
    }

    /// Takes the note away, and leaves another where nobody has read yet of what was renamed.
    pub(super) fn end(self, unread: &Excerpt<Moved>) -> io::Result<()> {
        if !unread.is_empty() {
            let note = Note { project: self.project.clone(), known: None, moved: unread.clone() };
            let (_, mut file) = create(&self.folder, &self.project)?;
            note.write(&mut file)?;
        }
        fs::remove_file(&self.path)
    }
}

impl Note {
    /// `None` for a note that is not whole.
    fn read(file: &mut File) -> Result<Option<Self>, Fault> {
        let mut text = Vec::new();
        let read = file.take(LONGEST).read_to_end(&mut text);
        read.map_err(Fault::at("read a note"))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Replaces what the file holds.
    fn write(&self, file: &mut File) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&text)
    }
}

/// Locks a file that other programs lock for a moment, or longer where a large project is looked at.
fn wait_for(lock: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(Errno::WOULDBLOCK) => {
                let seconds = PATIENCE.as_secs();
                return Err(io::Error::other(format!(
                    "another program has held the file `lock` in it for {seconds} s; end that and call again"
                )));
            }
            done => return Ok(done?),
        }
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

/// The paths of a project's notes. Another project may have the same beginning of names.
fn notes(folder: &Path, project: &Path) -> Result<impl Iterator<Item = PathBuf>, Fault> {
    let prefix = prefix(project);
    let listed = fs::read_dir(folder);
    let listed = listed.map_err(Fault::at(&format!("read notes in `{}`", folder.display())))?;
    let is_its =
        move |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(prefix.as_bytes());
    Ok(listed.flatten().filter(is_its).map(|entry| entry.path()))
}

/// Does what supervisors that were killed had still to do in the project.
fn finish_others(folder: &Path, project: &Path) -> Result<Excerpt<Moved>, Fault> {
    let mut all = Excerpt::default();
    for path in notes(folder, project)? {
        let Ok(mut file) = options().open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        if let Some(moved) = finish((&path, &mut file), project)? {
            all.append(moved);
            // One that ended by itself has taken its own away.
            let _gone = fs::remove_file(&path);
        }
    }
    Ok(all)
}

/// Does what one note asks for; `None` for a note of another project. A supervisor that was killed before it had written all had not
/// started anything.
fn finish(
    (path, file): (&Path, &mut File),
    project: &Path,
) -> Result<Option<Excerpt<Moved>>, Fault> {
    let Some(mut note) = Note::read(file)? else { return Ok(Some(Excerpt::default())) };
    if note.project != project {
        return Ok(None);
    }
    if let Some(known) = &note.known {
        let known = present(known, Survey::identities(project)?).ok_or_else(|| {
            let problem = format!(
                "nothing in the project has the number that it had then; look for repositories that you did not make, and \
                 remove the note `{}`",
                path.display()
            );
            Fault::new("look at what an earlier program left", problem)
        })?;
        let after = Survey::after(project, &known)?;
        let problem = after.problem();
        note.moved.append(after.moved);
        if let Some(problem) = problem {
            note.write(file).map_err(Fault::at("write a note"))?;
            return Err(Fault::new("look at what an earlier program left", problem));
        }
    }
    Ok(Some(note.moved))
}

/// Returns those of the places that are there which were known before; `None` if there is none of them, because the file system
/// gives out new numbers. A device may have another number after a restart, and is not compared.
fn present(known: &BTreeSet<Identity>, there: BTreeSet<Identity>) -> Option<BTreeSet<Identity>> {
    let is_same = |old: &Identity, new: &Identity| {
        (old.inode, old.born, &old.target) == (new.inode, new.born, &new.target)
    };
    let found: BTreeSet<Identity> =
        there.into_iter().filter(|new| known.iter().any(|old| is_same(old, new))).collect();
    (known.is_empty() || !found.is_empty()).then_some(found)
}
