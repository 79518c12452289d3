//! Notes about the state of a project before a program. They survive a killed supervisor.
//!
//! A note is locked while its supervisor lives. An unlocked note belongs to a killed supervisor, and the next
//! supervisor in the same project finishes its work.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::account::{Excerpt, Moved};
use super::call_folder::KnownFolder;
use super::fault::Fault;
use super::layout::Identity;
use super::path_encoding;
use super::survey::Survey;

/// The size of the largest note that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The end of a complete note: a line end, which JSON on one line does not contain.
const END: &[u8] = b"\n";

/// The largest number of notes with the same process id.
const NOTES: usize = 1_000;

/// The longest time that another program may hold the lock of the notes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The content of a note.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    #[serde(with = "path_encoding::one")]
    project: PathBuf,
    /// The places that existed before the program, or `None` if nothing is left to do.
    known: Option<BTreeSet<Identity>>,
    /// The renamed entries that no caller has been told of.
    moved: Excerpt<Moved>,
}

/// The note of a running program.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    project: PathBuf,
    path: PathBuf,
    /// The open file, which is locked.
    file: File,
    /// `true` if nothing has been written.
    is_empty: bool,
}

impl Journal {
    /// Begins a note, after the work of killed supervisors is finished. The renamed entries are added to
    /// `moved`, even if there is an error. They stay in a note until a caller has been told of them.
    pub(super) fn begin(
        folder: &Path,
        known_project: &KnownFolder,
        moved: &mut Excerpt<Moved>,
    ) -> Result<Self, Fault> {
        let project = known_project.path();
        let action = format!("keep notes in `{}`", folder.display());
        make_folder(folder).map_err(Fault::at(&action))?;
        let lock = lock_path(folder, project);
        let lock_file = options().create(true).open(&lock).map_err(Fault::at(&action))?;
        wait_for(&lock_file, &lock).map_err(Fault::at(&action))?;
        let mut journal = Self::create(folder, project).map_err(Fault::at(&action))?;
        match journal.finish_others(known_project, moved) {
            Ok(()) => Ok(journal),
            Err(fault) => {
                journal.end(moved).map_err(Fault::at(&action))?;
                Err(fault)
            }
        }
    }

    /// Makes an empty note and locks it.
    fn create(folder: &Path, project: &Path) -> io::Result<Self> {
        let prefix = prefix(project);
        let own = std::process::id();
        for number in 0..NOTES {
            let path = folder.join(format!("{prefix}{own}-{number}"));
            match options().create_new(true).open(&path) {
                Ok(file) => {
                    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                    let folder = folder.to_owned();
                    let project = project.to_owned();
                    return Ok(Self { folder, project, path, file, is_empty: true });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Finishes the work of killed supervisors in the project. If one note fails, the others are still read.
    fn finish_others(
        &mut self,
        project: &KnownFolder,
        moved: &mut Excerpt<Moved>,
    ) -> Result<(), Fault> {
        let mut problem = Ok(());
        for path in self.paths_of_others()? {
            let Ok(mut file) = options().open(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || is_gone(&file) {
                continue;
            }
            let done = match Note::read(&mut file, &path) {
                Ok(Some(note)) if note.project == self.project => {
                    self.finish(project, &path, note, moved)
                }
                Ok(Some(_)) => Ok(()),
                Ok(None) => {
                    let _gone = fs::remove_file(&path);
                    Ok(())
                }
                Err(fault) => Err(fault),
            };
            problem = problem.and(done);
        }
        problem
    }

    /// Finishes the work of one note. The result is written to the own note first, so that a kill loses
    /// nothing.
    fn finish(
        &mut self,
        project: &KnownFolder,
        path: &Path,
        note: Note,
        moved: &mut Excerpt<Moved>,
    ) -> Result<(), Fault> {
        let action = "look at what an earlier program left";
        let after = note.known.as_ref().map(|known| look_after(project, known, path));
        let after = after.transpose()?;
        moved.append(note.moved);
        let problem = after.as_ref().and_then(Survey::problem);
        after.into_iter().for_each(|after| moved.append(after.moved));
        let own = Note { project: self.project.clone(), known: None, moved: moved.clone() };
        self.put(&own).map_err(Fault::at(action))?;
        if problem.is_some() {
            let left = Note { moved: Excerpt::default(), ..note };
            Self::create(&self.folder, &self.project)
                .and_then(|mut new| new.put(&left))
                .map_err(Fault::at(action))?;
        }
        // A supervisor that ended by itself has removed its note.
        let _gone = fs::remove_file(path);
        problem.map_or(Ok(()), |problem| Err(Fault::new(action, problem)))
    }

    /// Passes the known places of each other unfinished note of the project to `found`. A program whose note
    /// is not complete has not started anything.
    pub(super) fn others(&self, mut found: impl FnMut(&BTreeSet<Identity>)) -> Result<(), Fault> {
        for _ in 0..NOTES {
            if self.hand_over(&mut found)? {
                return Ok(());
            }
        }
        Err(Fault::new("read notes", "other programs replace them without end"))
    }

    /// Returns `false` if a note was removed meanwhile. It may have been replaced by one with a new name.
    fn hand_over(&self, found: &mut impl FnMut(&BTreeSet<Identity>)) -> Result<bool, Fault> {
        let mut is_whole = true;
        for path in self.paths_of_others()? {
            let Ok(mut file) = options().open(&path) else {
                is_whole = false;
                continue;
            };
            let note = Note::read(&mut file, &path)?.filter(|note| note.project == self.project);
            note.and_then(|note| note.known).iter().for_each(&mut *found);
        }
        Ok(is_whole)
    }

    /// Returns the paths of the project's other notes. Notes of another project may have the same prefix.
    fn paths_of_others(&self) -> Result<Vec<PathBuf>, Fault> {
        let prefix = prefix(&self.project);
        let listed = fs::read_dir(&self.folder);
        let action = format!("read notes in `{}`", self.folder.display());
        let listed = listed.map_err(Fault::at(&action))?.flatten();
        let is_its =
            |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(prefix.as_bytes());
        let paths = listed.filter(is_its).map(|entry| entry.path());
        Ok(paths.filter(|path| *path != self.path).collect())
    }

    /// Writes the known places, and the renamed entries that no caller has been told of. This happens before
    /// the program starts, and if the note stays for the next supervisor in the project.
    pub(super) fn write(
        &mut self,
        known: &BTreeSet<Identity>,
        moved: &Excerpt<Moved>,
    ) -> Result<(), Fault> {
        let project = self.project.clone();
        let known = Some(known.clone());
        let note = Note { project, known, moved: moved.clone() };
        self.put(&note).map_err(Fault::at(&format!("write `{}`", self.path.display())))
    }

    /// Removes the note. If there are renamed entries that no caller has been told of, they get a new note.
    pub(super) fn end(self, unread: &Excerpt<Moved>) -> io::Result<()> {
        if !unread.is_empty() {
            let note = Note { project: self.project.clone(), known: None, moved: unread.clone() };
            Self::create(&self.folder, &self.project)?.put(&note)?;
        }
        fs::remove_file(&self.path)
    }

    /// Replaces the content of the note. A file is written once, so that a kill leaves the old note, the new
    /// one, or both.
    fn put(&mut self, note: &Note) -> io::Result<()> {
        if !self.is_empty {
            let mut new = Self::create(&self.folder, &self.project)?;
            new.put(note)?;
            let old = std::mem::replace(self, new);
            return fs::remove_file(old.path);
        }
        self.is_empty = false;
        self.file.write_all(&note.text()?)
    }
}

impl Note {
    /// Reads a note. Returns `None` if it is incomplete: its supervisor was killed while it wrote, and had
    /// started nothing.
    ///
    /// A complete note that cannot be read is an error, because its supervisor may have started a program.
    fn read(file: &mut File, path: &Path) -> Result<Option<Self>, Fault> {
        let mut text = Vec::new();
        let read = file.take(LONGEST.saturating_add(1)).read_to_end(&mut text);
        let length = read.map_err(Fault::at("read a note"))?;
        let is_long = u64::try_from(length).is_ok_and(|length| length > LONGEST);
        if !is_long && !text.ends_with(END) {
            return Ok(None);
        }
        let note = (!is_long).then(|| serde_json::from_slice(&text).ok()).flatten();
        note.map(Some).ok_or_else(|| {
            let problem = "its note cannot be read, so that it is not known what was there before";
            Fault::new("look at what an earlier program left", to_remove(problem, path))
        })
    }

    /// Returns the text of the note with its end mark.
    fn text(&self) -> io::Result<Vec<u8>> {
        let text = [&serde_json::to_vec(self)?, END].concat();
        match u64::try_from(text.len()).is_ok_and(|length| length <= LONGEST) {
            true => Ok(text),
            false => Err(io::Error::other("the project has too many repositories for a note")),
        }
    }
}

/// Returns a problem with advice.
fn to_remove(problem: &str, path: &Path) -> String {
    let path = path.display();
    format!("{problem}; look for repositories that you did not make, and remove the note `{path}`")
}

/// Returns `true` if the file was removed meanwhile, because its supervisor has ended.
fn is_gone(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

/// Waits for the lock of a file. Other programs hold it for a moment, or longer while they check a large
/// project.
fn wait_for(lock: &File, path: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < PATIENCE => {
                #[expect(clippy::disallowed_methods, reason = "a supervisor runs no tasks")]
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(Errno::WOULDBLOCK) => {
                let seconds = PATIENCE.as_secs();
                return Err(io::Error::other(format!(
                    "another program has held `{}` for {seconds} s; end that and call again",
                    path.display()
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

/// Makes the folder, or checks that only this user can write in it. Another user could make this launcher
/// rename repositories.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    match metadata.is_dir() && is_own && metadata.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other("it is not a folder that only this user can write")),
    }
}

/// Returns the path of the lock for the notes of a project.
fn lock_path(folder: &Path, project: &Path) -> PathBuf {
    folder.join(format!("lock-{}", number(project)))
}

/// Returns the prefix of the names of a project's notes.
fn prefix(project: &Path) -> String {
    format!("{}-", number(project))
}

/// Returns the number of a project.
fn number(project: &Path) -> String {
    // FNV-1a. If two projects have the same number, the path in the note distinguishes them.
    let bytes = project.as_os_str().as_bytes().iter();
    let number = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{number:016x}")
}

/// Renames the places that are new since the known places were found.
fn look_after(
    project: &KnownFolder,
    known: &BTreeSet<Identity>,
    path: &Path,
) -> Result<Survey, Fault> {
    let known = present(known, Survey::identities(project)?).ok_or_else(|| {
        let problem = "nothing in the project has the number that it had then";
        Fault::new("look at what an earlier program left", to_remove(problem, path))
    })?;
    Survey::after(project, &known)
}

/// Returns the existing places that were known before. Returns `None` if there are none, because then the
/// file system has new numbers. The device is not compared, because its number may change at a restart.
fn present(known: &BTreeSet<Identity>, there: BTreeSet<Identity>) -> Option<BTreeSet<Identity>> {
    let is_same = |old: &Identity, new: &Identity| {
        (old.inode, old.born, &old.target) == (new.inode, new.born, &new.target)
    };
    let found: BTreeSet<Identity> =
        there.into_iter().filter(|new| known.iter().any(|old| is_same(old, new))).collect();
    (known.is_empty() || !found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for notes, and a project with a repository.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let outer = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = outer.path().canonicalize().unwrap();
        let notes = root.join("notes");
        let project = root.join("project");
        fs::create_dir_all(project.join("old/.git")).unwrap();
        (outer, notes, project)
    }

    fn begin(notes: &Path, project: &Path) -> (Result<Journal, Fault>, Vec<String>) {
        let mut moved = Excerpt::default();
        let project = KnownFolder::of(project).unwrap();
        let journal = Journal::begin(notes, &project, &mut moved);
        (journal, moved.first().iter().map(|one| one.from.display().to_string()).collect())
    }

    /// Leaves the note of a supervisor that was killed after its program had made a repository.
    fn kill(notes: &Path, project: &Path) -> PathBuf {
        let mut journal = begin(notes, project).0.unwrap();
        let known = Survey::identities(&KnownFolder::of(project).unwrap()).unwrap();
        journal.write(&known, &Excerpt::default()).unwrap();
        fs::create_dir_all(project.join("new/.git")).unwrap();
        journal.path
    }

    #[test]
    fn what_was_renamed_stays_in_a_note_until_it_is_told() {
        let (_outer, notes, project) = place();
        let _note = kill(&notes, &project);
        for _ in 0..3 {
            // Each of them is killed before it has written a note of its own.
            let (journal, moved) = begin(&notes, &project);
            assert_eq!(moved, ["new/.git"]);
            drop(journal.unwrap());
        }
        let (journal, _) = begin(&notes, &project);
        journal.unwrap().end(&Excerpt::default()).unwrap();
        assert_eq!(begin(&notes, &project).1, [""; 0]);
        assert!(project.join("old/.git").exists() && !project.join("new/.git").exists());
    }

    /// Changes the note of a killed supervisor, and checks whether the next start is refused.
    #[test]
    fn a_note_that_cannot_be_read_counts_as_one_that_may_have_started_anything() {
        let end = |text: &str, end: &str| [text, end].concat();
        for (name, change, is_refused) in [
            (
                "nothing was written",
                Box::new(|_: &str| String::new()) as Box<dyn Fn(&str) -> String>,
                false,
            ),
            (
                "half of it was written",
                Box::new(|text: &str| text[..text.len() / 2].to_owned()),
                false,
            ),
            (
                "half of it is there",
                Box::new(|text: &str| end(&text[..text.len() / 2], "\n")),
                true,
            ),
            ("another text", Box::new(|_: &str| "{}\n".to_owned()), true),
            ("too long", Box::new(|text: &str| end(text, &" ".repeat(64 << 20))), true),
        ] {
            let (_outer, notes, project) = place();
            let note = kill(&notes, &project);
            let text = fs::read_to_string(&note).unwrap();
            fs::write(&note, change(&text)).unwrap();
            let (journal, moved) = begin(&notes, &project);
            let said = journal.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert_eq!(journal.is_err(), is_refused, "{name}: {said}");
            let told = format!("remove the note `{}`", note.display());
            assert_eq!(said.ends_with(&told), is_refused, "{name}: {said}");
            assert_eq!(moved, [""; 0], "{name}");
            assert!(project.join("old/.git").exists() && project.join("new/.git").exists());
        }
    }

    #[test]
    fn each_project_has_a_lock_of_its_own() {
        let (_outer, notes, project) = place();
        let other = project.with_file_name("other");
        fs::create_dir(&other).unwrap();
        begin(&notes, &project).0.unwrap().end(&Excerpt::default()).unwrap();
        let hold = |entry: io::Result<fs::DirEntry>| {
            let lock = options().open(entry.unwrap().path()).unwrap();
            flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
            lock
        };
        let held: Vec<File> = fs::read_dir(&notes).unwrap().map(hold).collect();
        // It would wait for a minute, and then fail.
        begin(&notes, &other).0.unwrap().end(&Excerpt::default()).unwrap();
        drop(held);
    }
}
