//! Temporary files and folders. If their program was killed, the next program of the same user removes them.
//!
//! Each is locked while its program uses it. If another program can lock it, it is unused. The names have one
//! form: `.rye-`, six letters and digits or two numbers, and `.tmp`. Only entries with such a name that
//! belong to the user are removed, and folders only in the parents of [`TemporaryFolder`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};
use rustix::fs::{FlockOperation, OFlags, flock, fstat};
use tempfile::{Builder, NamedTempFile, TempDir};

/// The prefix and the suffix of the names.
const PREFIX: &str = ".rye-";
const SUFFIX: &str = ".tmp";

/// The number of random letters and digits in a name.
const RANDOM: usize = 6;

/// The largest number of attempts. An attempt fails if another program removes the new entry before it is
/// locked.
const ATTEMPTS: usize = 8;

/// A new folder that only this user can enter. Dropping the value removes it.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// Makes a folder in `parent`, and first removes those that killed programs left there.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        sweep_path(parent, Left::All);
        attempt(|| {
            let folder = builder(0o700).tempdir_in(parent)?;
            Ok(lock_folder(folder.path())?.map(|lock| Self { folder, _lock: lock }))
        })
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let path = self.folder.path();
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return };
        // If it cannot be removed, the next program removes it.
        let parent = Dir::open_ambient_dir(parent, ambient_authority());
        let _left = parent.and_then(|parent| remove_folder(&parent, name));
    }
}

/// Removes a folder with everything in it. Folders that are closed to their owner are opened first.
///
/// Programs can make trees of any depth. Each inner folder is moved up and emptied there, so that neither the
/// stack nor the number of open files grows with the depth.
fn remove_folder(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let top = parent.open_dir_nofollow(name)?;
    let mut moved = 0;
    loop {
        let names = some_names(&top)?;
        if names.is_empty() {
            return parent.remove_dir(name);
        }
        for name in names {
            remove_entry(&top, &name, &mut moved)?;
        }
    }
}

/// Returns the names of the first entries of a folder, as many as fit into memory.
fn some_names(folder: &Dir) -> io::Result<Vec<OsString>> {
    folder.entries()?.take(NAMES_AT_ONCE).map(|entry| Ok(entry?.file_name())).collect()
}

const NAMES_AT_ONCE: usize = 1_024;

/// Removes a file or folder. Inner folders are first moved into `top`, under names from the counter `moved`.
fn remove_entry(top: &Dir, name: &OsStr, moved: &mut u64) -> io::Result<()> {
    if !open_if_folder(top, name)? {
        return top.remove_file(name);
    }
    let folder = top.open_dir_nofollow(name)?;
    loop {
        let names = some_names(&folder)?;
        if names.is_empty() {
            return top.remove_dir(name);
        }
        for name in names {
            match open_if_folder(&folder, &name)? {
                true => move_up(&folder, &name, top, moved)?,
                false => folder.remove_file(&name)?,
            }
        }
    }
}

/// Returns `true` for a folder, and gives its owner access first.
fn open_if_folder(parent: &Dir, name: &OsStr) -> io::Result<bool> {
    let found = parent.symlink_metadata(name)?;
    if found.is_dir() && found.permissions().mode() & 0o700 != 0o700 {
        parent.set_permissions(name, cap_std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(found.is_dir())
}

/// Moves a folder to a free name in `top`. If a program takes the name first, the next one is tried.
fn move_up(from: &Dir, name: &OsStr, top: &Dir, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        let free = format!("{PREFIX}{moved}");
        if top.symlink_metadata(&free).is_err() {
            return from.rename(name, top, free);
        }
    }
}

/// Makes a temporary file with this mode in a folder, and first removes those that killed programs left
/// there.
///
/// # Errors
///
/// The system's error.
pub fn temporary_file(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    sweep_path(folder, Left::Files);
    attempt(|| {
        let made = builder(mode).tempfile_in(folder)?;
        Ok(lock_shared(made.as_file()).then_some(made))
    })
}

fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
    builder.permissions(Permissions::from_mode(mode));
    builder
}

fn attempt<T>(mut make: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        if let Some(made) = make()? {
            return Ok(made);
        }
    }
    Err(io::Error::other("another program removes temporary files as soon as they are made"))
}

/// Locks an open folder of another process until it is closed, so that it is not taken for unused.
#[cfg(target_os = "linux")]
pub(crate) fn hold(folder: &impl AsFd) {
    // On a system without locks, it is never taken for unused.
    let _locked = flock(folder, FlockOperation::NonBlockingLockShared);
}

/// Opens a plain file, or makes it, and takes a shared lock. Links are not followed.
#[cfg(target_os = "linux")]
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    flock(&file, FlockOperation::LockShared)?;
    Ok(file)
}

/// Locks a new folder; `None` if another program has removed it or is about to.
fn lock_folder(path: &Path) -> io::Result<Option<File>> {
    match open_folder(path) {
        Ok(lock) => Ok(lock_shared(&lock).then_some(lock)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Locks an entry that is in use. Returns `false` if another program has removed it or is about to.
pub fn lock_shared(file: &impl AsFd) -> bool {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => fstat(file).is_ok_and(|it| it.st_nlink > 0),
        Err(error) => error != rustix::io::Errno::WOULDBLOCK,
    }
}

/// The kinds of unused entries that are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Files,
    All,
}

fn sweep_path(folder: &Path, left: Left) {
    // If the folder cannot be opened, the creation that follows reports the error.
    if let Ok(folder) = Dir::open_ambient_dir(folder, ambient_authority()) {
        sweep_kinds(&folder, left);
    }
}

/// Removes the files that killed programs of this user left in a folder, once per process.
pub fn sweep_once(folder: &Dir) {
    sweep_kinds(folder, Left::Files);
}

/// The identity of a folder with its creation time, and the kinds of entries that were removed there.
type Swept = (u64, u64, Option<SystemTime>, Left);

fn sweep_kinds(folder: &Dir, left: Left) {
    // A new folder may have the number of an old one, but not its creation time.
    static SWEPT: Mutex<BTreeSet<Swept>> = Mutex::new(BTreeSet::new());
    let Ok(found) = folder.dir_metadata() else { return };
    let created = found.created().ok().map(cap_std::time::SystemTime::into_std);
    let id = (found.dev(), found.ino(), created, left);
    if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
        sweep(folder, left);
    }
}

fn sweep(folder: &Dir, left: Left) {
    for entry in folder.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_temporary) {
            // If it cannot be removed, the next program removes it.
            let _left = remove_unused(folder, &name, left);
        }
    }
}

/// Returns `true` for names of this program: with random letters and digits, or with a process id and a
/// count.
fn is_temporary(name: &str) -> bool {
    let inner = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    inner.is_some_and(|inner| match inner.split_once('-') {
        Some((process, count)) => is_number(process) && is_number(count),
        None => inner.len() == RANDOM && inner.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    })
}

/// Removes a file or folder of this user that no program has locked. Links are neither followed nor removed.
fn remove_unused(folder: &Dir, name: &OsStr, left: Left) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let found = folder.symlink_metadata(name)?;
    let is_left = found.is_file() || (found.is_dir() && left == Left::All);
    if found.uid() != own || !is_left {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let opened = folder.open_with(name, &options)?;
    let same = fstat(&opened)?;
    if (same.st_dev, same.st_ino, same.st_uid) != (found.dev(), found.ino(), own) {
        return Ok(());
    }
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    if found.is_dir() { remove_folder(folder, name) } else { folder.remove_file(name) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Between its creation and its lock, a folder looks unused. Another one is then made.
    #[test]
    fn a_folder_that_another_program_removed_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(lock_folder(folder.path()).unwrap().is_some());
        assert!(lock_folder(&folder.path().join("removed")).unwrap().is_none());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(lock_folder(&file).is_err());
    }

    #[test]
    fn only_their_owner_can_open_them() {
        let outer = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::new_in(outer.path()).unwrap();
        let file = temporary_file(outer.path(), 0o600).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(folder.path()), mode(file.path())), (0o700, 0o600));
        drop((folder, file));
        assert_eq!(names(outer.path()), [""; 0]);
    }

    #[test]
    fn what_is_used_stays_and_what_was_left_goes() {
        let outer = tempfile::tempdir().unwrap();
        let place = |name: &str| outer.path().join(name);
        let folder = TemporaryFolder::new_in(outer.path()).unwrap();
        let file = temporary_file(outer.path(), 0o600).unwrap();
        // A process that holds the folder of another one, which was killed.
        fs::create_dir(place(".rye-a1held.tmp")).unwrap();
        let held = File::open(place(".rye-a1held.tmp")).unwrap();
        hold(&held);
        fs::create_dir_all(place(".rye-a1left.tmp/tmp/deep")).unwrap();
        fs::write(place(".rye-a1left.tmp/tmp/deep/file"), "left").unwrap();
        fs::write(place(".rye-1-2.tmp"), "left").unwrap();
        sweep(&Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap(), Left::All);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = [".rye-a1held.tmp".to_owned(), name(folder.path()), name(file.path())];
        expected.sort();
        assert_eq!(names(outer.path()), expected);
        // Closing it is not enough: a program that another test starts has it, too, until it has begun.
        flock(&held, FlockOperation::Unlock).unwrap();
        sweep(&Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap(), Left::All);
        assert_eq!(names(outer.path()).len(), 2);
    }

    /// For root nothing is closed; the tests of programs do the same as an ordinary user.
    #[test]
    fn what_was_closed_is_removed() {
        let outer = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap();
        fs::create_dir_all(outer.path().join("a/b/c")).unwrap();
        for closed in ["a/b/c", "a/b", "a"] {
            let permissions = fs::Permissions::from_mode(0o000);
            fs::set_permissions(outer.path().join(closed), permissions).unwrap();
        }
        // As the folder of a call, the first one can be opened.
        fs::set_permissions(outer.path().join("a"), Permissions::from_mode(0o700)).unwrap();
        remove_folder(&parent, OsStr::new("a")).unwrap();
        assert_eq!(names(outer.path()), [""; 0]);
    }

    /// A tree that is deeper than the open files of a process, and that has the names which are used on the way.
    #[test]
    fn a_folder_of_any_depth_is_removed() {
        let outer = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap();
        parent.create_dir("a").unwrap();
        let mut folder = parent.open_dir("a").unwrap();
        for depth in 0..5_000 {
            folder.create_dir("d").unwrap();
            let inner = folder.open_dir("d").unwrap();
            if depth % 100 == 0 {
                folder.write("file", "left").unwrap();
                folder.create_dir(".rye-1").unwrap();
                folder.set_permissions("d", cap_std::fs::Permissions::from_mode(0)).unwrap();
            }
            folder = inner;
        }
        remove_folder(&parent, OsStr::new("a")).unwrap();
        assert_eq!(names(outer.path()), [""; 0]);
    }

    #[test]
    fn nothing_else_goes() {
        let outer = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "kept").unwrap();
        let place = |name: &str| outer.path().join(name);
        symlink(elsewhere.path(), place(".rye-a1link.tmp")).unwrap();
        symlink(elsewhere.path().join("file"), place(".rye-a1file.tmp")).unwrap();
        fs::create_dir(place(".rye-a1innr.tmp")).unwrap();
        symlink(elsewhere.path(), place(".rye-a1innr.tmp/link")).unwrap();
        let mkfifo = rustix::fs::mknodat(
            rustix::fs::CWD,
            place(".rye-a1pipe.tmp"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        );
        mkfifo.unwrap();
        for name in [
            "rye-a.tmp",
            ".rye-a",
            ".rye.tmp",
            ".tmpABC",
            "tmp",
            ".rye-notes.tmp",
            ".rye-notes-1.tmp",
            ".rye-notes_.tmp",
            ".rye-1-2-3.tmp",
            ".rye-12-.tmp",
            ".rye-.tmp",
        ] {
            fs::write(place(name), "kept").unwrap();
        }
        if rustix::process::geteuid().is_root() {
            fs::create_dir(place(".rye-a1othr.tmp")).unwrap();
            std::os::unix::fs::chown(place(".rye-a1othr.tmp"), Some(65534), Some(65534)).unwrap();
        }
        let before: Vec<String> =
            names(outer.path()).into_iter().filter(|name| name != ".rye-a1innr.tmp").collect();
        sweep(&Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap(), Left::All);
        assert_eq!(names(outer.path()), before);
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "kept");
    }

    #[test]
    fn folders_of_other_places_stay() {
        let outer = tempfile::tempdir().unwrap();
        let place = outer.path().join(".rye-abcdef.tmp");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("file"), "kept").unwrap();
        fs::write(outer.path().join(".rye-ghijkl.tmp"), "left").unwrap();
        sweep_once(&Dir::open_ambient_dir(outer.path(), ambient_authority()).unwrap());
        drop(temporary_file(outer.path(), 0o600).unwrap());
        assert_eq!(names(outer.path()), [".rye-abcdef.tmp"]);
        assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "kept");
        drop(TemporaryFolder::new_in(outer.path()).unwrap());
        assert_eq!(names(outer.path()), [""; 0]);
    }

    #[test]
    fn the_first_use_of_a_folder_removes_what_was_left_there() {
        // Both stay to the end, so that the second does not get the number of the first.
        let outer = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let makers = [
            (|folder: &Path| drop(TemporaryFolder::new_in(folder).unwrap())) as fn(&Path),
            |folder| drop(temporary_file(folder, 0o600).unwrap()),
        ];
        for (outer, make) in outer.iter().zip(makers) {
            fs::write(outer.path().join(".rye-a1left.tmp"), "left").unwrap();
            make(outer.path());
            assert_eq!(names(outer.path()), [""; 0]);
        }
    }
}
