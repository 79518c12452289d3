//! Whether the program that holds a lease still runs.
//!
//! A program that opens a store locks a file of its own for as long as it lives. The system frees the lock when the
//! program dies, however it dies, so that nobody waits for the lease of a program that was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(unix)]
use rustix::fs::OFlags;

use super::StoreError;
#[cfg(unix)]
use super::leases::path_of;

/// The locked file of this program, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Owner {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl Owner {
    /// Makes and locks the first file of the folder that nobody alive has; its name holds this program's number.
    ///
    /// In containers most programs have the same number, and one that was killed leaves its file. So the file says when it was
    /// made, and that is part of the program's name.
    pub(super) fn enter(folder: &Path) -> io::Result<Self> {
        remove_all_of_dead(folder);
        let process = std::process::id();
        for number in 0..MOST {
            let file_name = format!("owner-{process}-{number}");
            let path = folder.join(&file_name);
            let mut file = match File::options().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            if lock(&file) && is_still(&file, &path) {
                let birth = birth(&file)?;
                file.write_all(birth.as_bytes())?;
                return Ok(Self { name: format!("{file_name}-{birth}"), path, _lock: file });
            }
        }
        Err(io::Error::other("too many stores are open in one program"))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The name of its file alone.
    pub(super) fn file_name(&self) -> &str {
        file_name(&self.name).expect("because this is how the name was made")
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays is found to be nobody's.
        drop(fs::remove_file(&self.path));
    }
}

/// Whether the program of this name may live; where the system has no such locks, a lease lapses by its time alone.
///
/// # Errors
///
/// When its file cannot be looked at, so that nobody knows.
pub(super) fn lives(folder: &Path, name: &str) -> Result<bool, StoreError> {
    // The name was read from a file of the project, which may say anything; only a program of another version is one that
    // cannot be asked.
    let Some((file_name, birth)) = parts(name) else { return Ok(!name.is_empty()) };
    let path = folder.join(file_name);
    match open(&path, File::options().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::File { path, source }),
        Ok(file) => Ok(says(&file, birth) && (!cfg!(unix) || !lock(&file))),
    }
}

/// The name of the file of the program that has this name, if any can have it.
pub(super) fn file_name(name: &str) -> Option<&str> {
    parts(name).map(|(file_name, _)| file_name)
}

/// The name of a program's file, and what that says.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (file_name, birth) = name.rsplit_once('-')?;
    let is_name = is_file_name(file_name) && is_of(birth, u8::is_ascii_hexdigit);
    is_name.then_some((file_name, birth))
}

fn is_file_name(name: &str) -> bool {
    let parts = name.strip_prefix("owner-").and_then(|numbers| numbers.split_once('-'));
    let is_number = |part| is_of(part, u8::is_ascii_digit);
    parts.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn is_of(part: &str, may: fn(&u8) -> bool) -> bool {
    !part.is_empty() && part.bytes().all(|it| may(&it))
}

/// When and where the file was made, by the clock of the disk that it is on.
fn birth(file: &File) -> io::Result<String> {
    let found = file.metadata()?;
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let made = found.modified().ok().and_then(since).unwrap_or_default();
    Ok(format!("{:x}{:x}", made.as_nanos(), place(&found)))
}

fn says(file: &File, birth: &str) -> bool {
    let (mut said, most) = (Vec::new(), birth.len().saturating_add(1));
    let read = file.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut said);
    read.is_ok() && said == birth.as_bytes()
}

/// Removes the files of programs that have died, for which nobody else may ever come. What cannot be removed is nobody's,
/// either.
#[cfg(unix)]
fn remove_all_of_dead(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if let Some(name) = entry.file_name().to_str().filter(|name| is_file_name(name)) {
            remove_of_dead(folder, name);
        }
    }
}

#[cfg(not(unix))]
fn remove_all_of_dead(_: &Path) {}

/// Under the lock of the program, which no other one can have meanwhile; its own file goes last, so that the other one is never
/// left alone.
#[cfg(unix)]
fn remove_of_dead(folder: &Path, name: &str) {
    let path = folder.join(name);
    let Ok(file) = open(&path, File::options().read(true)) else { return };
    if lock(&file) && is_still(&file, &path) && remove_plain(&path_of(folder, name)).is_ok() {
        drop(fs::remove_file(&path));
    }
}

/// What is no plain file was laid there by somebody, who is told of it where it stands in the way.
#[cfg(unix)]
fn remove_plain(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(found) if !found.is_file() => Err(io::ErrorKind::InvalidInput.into()),
        found => found.and_then(|_| fs::remove_file(path)),
    }
}

/// Opens the plain file at `path`; nothing else that somebody may have laid there, and no file that a link leads to.
#[cfg(unix)]
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path);
    let found = match &file {
        Ok(file) => file.metadata()?,
        Err(_) => fs::symlink_metadata(path)?,
    };
    if found.is_file() { file } else { Err(io::Error::other("it is no plain file; remove it")) }
}

#[cfg(not(unix))]
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.open(path)
}

const MOST: u32 = 10_000;

/// Locks the file for as long as it is open or until it is unlocked, unless somebody else has.
pub(super) fn lock(file: &File) -> bool {
    try_lock(file).is_ok()
}

#[cfg(unix)]
pub(super) fn try_lock(file: &File) -> io::Result<()> {
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    Ok(rustix::fs::flock(file, exclusive)?)
}

#[cfg(not(unix))]
pub(super) fn try_lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn unlock(file: &File) {
    // Closing the file does it, too.
    let _unlocked = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

#[cfg(not(unix))]
pub(super) fn unlock(_: &File) {}

/// Whether the file has not been removed between its opening and its locking.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}

/// The number that the file has on its disk.
#[cfg(unix)]
fn place(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn place(_: &fs::Metadata) -> u64 {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        assert_eq!(parts("owner-1-0-a"), Some(("owner-1-0", "a")));
        assert_eq!(file_name("owner-4194304-9999-17f0a"), Some("owner-4194304-9999"));
        for name in [
            "",
            "owner-",
            "owner-1",
            "owner-1-0",
            "owner--1-a",
            "owner-1--a",
            "owner-1-0-",
            "owner-1-0-g",
            "owner-1-0-a.taken",
            "owner-1-0-a-b",
            "../owner-1-0-a",
            "owner-1-0/../x-a",
            "x",
        ] {
            assert_eq!(parts(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_lives_as_long_as_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let first = Owner::enter(folder.path()).unwrap();
        let second = Owner::enter(folder.path()).unwrap();
        let name = first.name().to_owned();
        assert_ne!(file_name(&name), file_name(second.name()));
        let lives = |name: &str| lives(folder.path(), name).unwrap();
        assert!(lives(&name) && lives(second.name()));
        drop(first);
        assert!(!lives(&name));
        let third = Owner::enter(folder.path()).unwrap();
        assert_eq!(file_name(third.name()), file_name(&name), "its file is free again");
    }

    /// The file of a program that was killed stays, and says what it said.
    #[test]
    fn the_file_of_a_program_that_has_died_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("owner-{}-0-1", std::process::id());
        let path = folder.path().join(file_name(&name).unwrap());
        fs::write(&path, "1").unwrap();
        let lives = |name: &str| lives(folder.path(), name).unwrap();
        assert!(!lives(&name));
        let owner = Owner::enter(folder.path()).unwrap();
        assert_eq!(file_name(owner.name()), file_name(&name));
        assert_ne!(owner.name(), name);
        assert!(lives(owner.name()) && !lives(&name));
        assert_eq!(
            format!("{}-{}", file_name(&name).unwrap(), fs::read_to_string(path).unwrap()),
            owner.name()
        );
    }

    /// What is no file of a program is in nobody's way, is not waited for, and leads nowhere.
    #[test]
    fn what_somebody_laid_there_is_passed_by() {
        type Lay = fn(&Path);
        let rows: [Lay; 3] = [
            |path| fs::create_dir(path).unwrap(),
            |path| std::os::unix::fs::symlink("outside", path).unwrap(),
            |path| {
                let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
                rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
            },
        ];
        for lay in rows {
            let folder = tempfile::tempdir().unwrap();
            lay(&folder.path().join(format!("owner-{}-0", std::process::id())));
            let owner = Owner::enter(folder.path()).unwrap();
            assert!(file_name(owner.name()).unwrap().ends_with("-1"));
            assert!(!folder.path().join("outside").exists());
        }
    }
}
