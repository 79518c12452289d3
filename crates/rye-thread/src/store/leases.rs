//! The leases that a program holds, and how another one takes a lease away from it while it lives.
//!
//! Beside the file that shows that it lives, a program has another one, `owner-*.taken`. It writes a journal only while it has
//! locked that one; and whoever takes a thread from it, because its time is up or somebody ends the thread, names the lease
//! there first, under the same lock. So a line is appended without asking the database, and none after a thread was taken.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::owner::{Owner, open, try_lock, unlock};
use super::{Lease, StoreError};
use crate::ThreadId;

/// What one program holds.
#[derive(Debug)]
pub(super) struct Leases {
    path: PathBuf,
    /// Where others say what they took.
    taken: File,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    epochs: BTreeMap<ThreadId, u64>,
    /// What others took before it was noted here: whoever was given a lease is not the only one who knows of it.
    taken: BTreeMap<ThreadId, u64>,
    /// How much of what others took was read.
    read: u64,
}

impl Leases {
    /// Whether files can be locked here, on which all of this rests.
    pub(super) const ARE_LOCKED: bool = cfg!(unix);

    /// Begins with none. The owner's file is nobody else's for as long as it lives.
    pub(super) fn enter(folder: &Path, owner: &Owner) -> Result<Self, StoreError> {
        let path = path_of(folder, owner.file_name());
        // What a killed program left, or somebody laid there, is neither read nor followed.
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let mut options = File::options();
        options.read(true).append(true).create_new(true);
        match removed.and_then(|()| options.open(&path)) {
            Ok(taken) => Ok(Self { path, taken, held: Mutex::default() }),
            Err(source) => Err(StoreError::File { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a lease that was given out, in place of any earlier one, unless somebody has taken it already.
    pub(super) fn add(&self, lease: &Lease) {
        let mut held = self.held();
        if held.taken.get(lease.thread()).is_none_or(|taken| *taken < lease.epoch()) {
            held.taken.remove(lease.thread());
            held.epochs.insert(lease.thread().clone(), lease.epoch());
        }
    }

    /// Forgets a lease, and says whether this program has none of its thread now.
    pub(super) fn remove(&self, lease: &Lease) -> bool {
        let mut held = self.held();
        if held.has(lease) {
            held.epochs.remove(lease.thread());
        }
        !held.epochs.contains_key(lease.thread())
    }

    /// Whether the lease is held, as far as this program knows.
    pub(super) fn knows(&self, lease: &Lease) -> bool {
        self.held().has(lease)
    }

    /// Does something while nobody can take the lease away; nothing, when it is not held any more.
    pub(super) fn holding<T>(
        &self,
        lease: &Lease,
        action: impl FnOnce() -> T,
    ) -> io::Result<Option<T>> {
        let mut held = self.held();
        if !held.has(lease) {
            return Ok(None);
        }
        let _locked = Locked::new(&self.taken)?;
        held.look(&self.taken)?;
        Ok(held.has(lease).then(action))
    }

    /// Whether the lease is held, and nobody has taken it away by now.
    pub(super) fn has(&self, lease: &Lease) -> io::Result<bool> {
        let mut held = self.held();
        if held.has(lease) {
            held.look(&self.taken)?;
        }
        Ok(held.has(lease))
    }

    /// A panic elsewhere leaves no change behind: each is one insertion or removal.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        // A file that stays is nobody's.
        drop(fs::remove_file(&self.path));
    }
}

impl Held {
    fn has(&self, lease: &Lease) -> bool {
        self.epochs.get(lease.thread()) == Some(&lease.epoch())
    }

    /// Forgets what others took meanwhile; where they cannot say so any more, everything.
    fn look(&mut self, taken: &File) -> io::Result<()> {
        let found = taken.metadata()?;
        if is_gone(&found) {
            self.epochs.clear();
        }
        if found.len() == self.read {
            return Ok(());
        }
        let (mut file, mut said) = (taken, Vec::new());
        file.seek(SeekFrom::Start(self.read))?;
        file.read_to_end(&mut said)?;
        // Half a line is of somebody who has not taken anything yet.
        let whole = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        said.truncate(whole);
        self.read += u64::try_from(whole).unwrap_or(u64::MAX);
        for line in String::from_utf8_lossy(&said).lines() {
            let Some((epoch, thread)) = line.split_once(' ') else { continue };
            if let (Ok(epoch), Ok(thread)) = (epoch.parse(), thread.parse::<ThreadId>()) {
                self.lose(thread, epoch);
            }
        }
        Ok(())
    }

    fn lose(&mut self, thread: ThreadId, epoch: u64) {
        if self.epochs.get(&thread) == Some(&epoch) {
            self.epochs.remove(&thread);
        } else {
            let taken = self.taken.entry(thread).or_default();
            *taken = epoch.max(*taken);
        }
    }
}

/// Takes a lease from the program that is told at `path`, which writes nothing more with it once this returns.
///
/// # Errors
///
/// When that cannot be told it; nothing is taken then.
pub(super) fn take(path: &Path, lease: &Lease) -> io::Result<()> {
    let file = match open(path, File::options().append(true)) {
        // It has ended meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let _locked = Locked::new(&file)?;
    (&file).write_all(format!("\n{} {}\n", lease.epoch(), lease.thread()).as_bytes())
}

/// Where a program that has the file of this name is told what was taken from it.
pub(super) fn path_of(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{owner}.taken"))
}

/// A file that is locked until this is dropped.
struct Locked<'a>(&'a File);

impl<'a> Locked<'a> {
    /// Whoever has it locked writes a line; one that was stopped while it did is not waited for for ever.
    fn new(file: &'a File) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            match try_lock(file) {
                Ok(()) => return Ok(Self(file)),
                Err(error) if is_for_now(&error) => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("another program has stopped while it wrote there; end it"))
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        unlock(self.0);
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

const PAUSE: Duration = Duration::from_millis(1);
const ATTEMPTS: u32 = 5_000;

/// Whether the file has no name any more, so that nobody else finds it.
#[cfg(unix)]
fn is_gone(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink() == 0
}

#[cfg(not(unix))]
fn is_gone(_: &fs::Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::store::owner::lock;

    const THREAD: &str = "check-019a0000-0000-7000-8000-000000000001";

    fn lease(epoch: u64) -> Lease {
        Lease::new(THREAD.parse().expect("it is one"), epoch)
    }

    #[test]
    fn nobody_can_take_a_lease_from_who_is_writing() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::enter(folder.path()).unwrap();
        let leases = Leases::enter(folder.path(), &owner).unwrap();
        leases.add(&lease(1));
        let other = open(leases.path(), File::options().append(true)).unwrap();
        let is_free = || lock(&other);
        assert_eq!(leases.holding(&lease(1), is_free).unwrap(), Some(false));
        assert!(lock(&other), "afterwards it is free");
    }

    /// Another thread of the program may look between the two.
    #[test]
    fn a_lease_that_was_taken_before_it_was_noted_is_not_held() {
        for (epoch, expected) in [(4, false), (5, false), (6, true)] {
            let folder = tempfile::tempdir().unwrap();
            let owner = Owner::enter(folder.path()).unwrap();
            let leases = Leases::enter(folder.path(), &owner).unwrap();
            let other = Lease::new(THREAD.replace("check", "other").parse().unwrap(), 1);
            leases.add(&other);
            take(&path_of(folder.path(), owner.file_name()), &lease(5)).unwrap();
            assert!(leases.has(&other).unwrap());
            leases.add(&lease(epoch));
            assert_eq!(leases.has(&lease(epoch)).unwrap(), expected, "{epoch}");
        }
    }

    /// Its file can be closed then, also where somebody else has taken the lease.
    #[test]
    fn whoever_gives_a_lease_back_learns_whether_the_program_has_another() {
        for (held, is_taken, expected) in [(1, false, true), (1, true, true), (2, false, false)] {
            let folder = tempfile::tempdir().unwrap();
            let owner = Owner::enter(folder.path()).unwrap();
            let leases = Leases::enter(folder.path(), &owner).unwrap();
            leases.add(&lease(held));
            if is_taken {
                take(&path_of(folder.path(), owner.file_name()), &lease(held)).unwrap();
                assert!(!leases.has(&lease(held)).unwrap());
            }
            assert_eq!(leases.remove(&lease(1)), expected, "{held} {is_taken}");
        }
    }

    /// What others say, in the order in which they say it, and whether the lease of epoch 2 is held then.
    #[test]
    fn who_takes_a_lease_says_which() {
        let rows: [(&str, bool); 8] = [
            ("", true),
            ("\n2 THREAD\n", false),
            ("\n1 THREAD\n", true),
            ("\n3 THREAD\n", true),
            ("\n2 other-019a0000-0000-7000-8000-000000000001\n", true),
            ("\n2 THREAD", true),
            ("\n1 THR\n2 THREAD\n", false),
            ("\n2 THREAD\n\n1 THREAD\n", false),
        ];
        for (said, expected) in rows {
            let folder = tempfile::tempdir().unwrap();
            let owner = Owner::enter(folder.path()).unwrap();
            let leases = Leases::enter(folder.path(), &owner).unwrap();
            leases.add(&lease(1));
            leases.add(&lease(2));
            let said = said.replace("THREAD", THREAD);
            // As one sees it that looks while it is written.
            for byte in said.as_bytes() {
                let mut other = open(leases.path(), File::options().append(true)).unwrap();
                other.write_all(&[*byte]).unwrap();
                let _not_yet = leases.has(&lease(2)).unwrap();
            }
            assert_eq!(leases.has(&lease(2)).unwrap(), expected, "{said:?}");
            assert_eq!(leases.holding(&lease(2), || ()).unwrap().is_some(), expected, "{said:?}");
            assert!(!leases.has(&lease(1)).unwrap());
        }
    }

    #[test]
    fn a_lease_is_taken_by_the_name_of_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::enter(folder.path()).unwrap();
        let leases = Leases::enter(folder.path(), &owner).unwrap();
        leases.add(&lease(1));
        take(&path_of(folder.path(), "owner-1-0"), &lease(1)).unwrap();
        assert!(leases.has(&lease(1)).unwrap());
        take(&path_of(folder.path(), owner.file_name()), &lease(1)).unwrap();
        assert!(!leases.has(&lease(1)).unwrap());
        drop(leases);
        take(&path_of(folder.path(), owner.file_name()), &lease(1)).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is made for it");
    }
}
