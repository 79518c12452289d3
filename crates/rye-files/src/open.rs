//! Opening of plain files. What was opened is looked at, so that no swap between a look and the opening counts.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use crate::Refusal;
use crate::kernel::refuse_kernel;

/// Opens the plain file at `path` for reading. Links are followed.
///
/// Nothing waits: a pipe, socket or device is refused, and on Linux it is not opened at all. So is a file of the kernel.
///
/// # Errors
///
/// The error of the system, or a [`Refusal`].
pub fn open_plain(path: &Path) -> io::Result<File> {
    open(path, Links::Follow, &[Kind::Plain])
}

/// Opens the plain file at `path` for reading, as [`open_plain`] does, and refuses a link in its place.
///
/// # Errors
///
/// As for [`open_plain`].
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    open(path, Links::Refuse, &[Kind::Plain])
}

/// Opens the plain file at `path` with these options, for example for writing. A link in its place is refused. A new file has the
/// mode `0o644`.
///
/// # Errors
///
/// The error of the system (for a link, that of `O_NOFOLLOW`), or a [`Refusal`].
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = system::open_with(path, options)?;
    refuse_others(&file, &[Kind::Plain])?;
    Ok(file)
}

/// Opens the folder at `path`, for example to wait until its names are on the disk. Links are followed, and nothing waits.
///
/// # Errors
///
/// The error of the system, also for anything that is not a folder.
pub fn open_folder(path: &Path) -> io::Result<File> {
    system::open_folder(path)
}

/// The treatment of a link as the last part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Follow,
    Refuse,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Pipe,
    Other,
}

impl Kind {
    /// Returns the kind of an opened file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?.file_type();
        Ok(match () {
            () if found.is_file() => Self::Plain,
            () if system::is_pipe(found) => Self::Pipe,
            () => Self::Other,
        })
    }
}

/// Opens a file of one of these kinds for reading, without waiting.
pub(crate) fn open(path: &Path, links: Links, kinds: &[Kind]) -> io::Result<File> {
    let file = system::open(path, links, &|file| refuse_others(file, kinds))?;
    refuse_others(&file, kinds)?;
    Ok(file)
}

fn refuse_others(file: &File, kinds: &[Kind]) -> io::Result<()> {
    let kind = Kind::of(file)?;
    if !kinds.contains(&kind) {
        return Err(Refusal::NotPlain.into());
    }
    // A pipe lies in a file system of its own.
    if kind == Kind::Plain { refuse_kernel(file) } else { Ok(()) }
}

#[cfg(unix)]
mod system {
    //! The calls of Unix systems.

    use std::fs::{File, FileType, OpenOptions};
    use std::io;
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    use std::path::Path;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::Links;
    use crate::Refusal;

    /// The standard library opens each file close-on-exec.
    const WITHOUT_WAITING: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

    /// Opens a file that `look` accepts.
    ///
    /// A descriptor for the place alone comes first, because opening a device may do something, and a watchdog restarts the machine.
    #[cfg(target_os = "linux")]
    pub(super) fn open(
        path: &Path,
        links: Links,
        look: &dyn Fn(&File) -> io::Result<()>,
    ) -> io::Result<File> {
        use std::os::fd::AsRawFd as _;

        let place = open_flags(path, OFlags::PATH | of_links(links))?;
        look(&place)?;
        let same = format!("/proc/self/fd/{}", place.as_raw_fd());
        match open_flags(Path::new(&same), WITHOUT_WAITING) {
            // Without `/proc`, the path leads there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                open_flags(path, WITHOUT_WAITING | of_links(links))
            }
            opened => opened,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(
        path: &Path,
        links: Links,
        _: &dyn Fn(&File) -> io::Result<()>,
    ) -> io::Result<File> {
        open_flags(path, WITHOUT_WAITING | of_links(links))
    }

    pub(super) fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        let flags = WITHOUT_WAITING | OFlags::NOFOLLOW;
        let opened = options.custom_flags(flags.bits().cast_signed()).mode(0o644).open(path);
        opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            // A pipe without a reader, or a socket.
            Some(Errno::NXIO) => Refusal::NotPlain.into(),
            _ => error,
        })
    }

    pub(super) fn open_folder(path: &Path) -> io::Result<File> {
        open_flags(path, WITHOUT_WAITING | OFlags::DIRECTORY)
    }

    fn open_flags(path: &Path, flags: OFlags) -> io::Result<File> {
        let opened =
            OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NXIO) => Refusal::NotPlain.into(),
            // Waiting would end when the other program gives it up, or after a minute.
            Some(Errno::WOULDBLOCK) => {
                io::Error::other("another program has a lease on it; try again later")
            }
            _ => error,
        })
    }

    const fn of_links(links: Links) -> OFlags {
        match links {
            Links::Follow => OFlags::empty(),
            Links::Refuse => OFlags::NOFOLLOW,
        }
    }

    pub(super) fn is_pipe(found: FileType) -> bool {
        found.is_fifo()
    }
}

#[cfg(not(unix))]
mod system {
    //! The calls of other systems, which have no pipes and devices among files.

    use std::fs::{File, FileType, OpenOptions};
    use std::io;
    use std::path::Path;

    use super::Links;
    use crate::Refusal;

    pub(super) fn open(
        path: &Path,
        links: Links,
        _: &dyn Fn(&File) -> io::Result<()>,
    ) -> io::Result<File> {
        if links == Links::Refuse && std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(Refusal::NotPlain.into());
        }
        if path.is_dir() { Err(Refusal::NotPlain.into()) } else { File::open(path) }
    }

    pub(super) fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        options.open(path)
    }

    pub(super) fn open_folder(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(super) fn is_pipe(_: FileType) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::{read_plain, read_plain_line, read_unlinked};

    /// Checks the refusal of a file by all functions that follow links.
    #[track_caller]
    fn refuses(path: &Path, expected: Refusal) {
        let reads = [read_plain(path, 1 << 20), read_plain_line(path, 1 << 20)];
        let errors = reads.map(Result::unwrap_err);
        for error in errors.into_iter().chain([open_plain(path).unwrap_err()]) {
            assert_eq!(Refusal::of(&error), Some(expected), "{}: {error}", path.display());
        }
    }

    #[test]
    fn what_is_no_plain_file_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        mknodat(CWD, place("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        drop(UnixListener::bind(place("socket")).unwrap());
        symlink("/dev/zero", place("device")).unwrap();
        symlink("pipe", place("link")).unwrap();
        for path in ["pipe", "socket", "device", "link", "."].map(place) {
            refuses(&path, Refusal::NotPlain);
            let refused = open_unlinked(&path).unwrap_err();
            assert_eq!(Refusal::of(&refused), Some(Refusal::NotPlain));
            open_with(&path, File::options().append(true).create(true)).unwrap_err();
        }
        // A pipe in which a program writes is none either.
        let _reader = open(&place("pipe"), Links::Refuse, &[Kind::Pipe]).unwrap();
        let refused = open_with(&place("pipe"), File::options().write(true)).unwrap_err();
        assert_eq!(Refusal::of(&refused), Some(Refusal::NotPlain));
    }

    #[test]
    fn a_file_of_the_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/proc/self/pagemap", &link).unwrap();
        let refusal = Refusal::OfKernel { file_system: "proc" };
        for path in [&link, Path::new("/proc/self/status"), Path::new("/proc/sys/kernel/ostype")] {
            refuses(path, refusal);
        }
    }

    #[test]
    fn a_link_is_followed_only_by_functions_that_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read_plain(&link, 4).unwrap(), b"text");
        assert_eq!(read_unlinked(&file, 4).unwrap(), b"text");
        assert_eq!(Refusal::of(&read_unlinked(&link, 4).unwrap_err()), Some(Refusal::NotPlain));
        open_with(&link, File::options().write(true)).unwrap_err();
        assert!(open_folder(folder.path()).is_ok());
        assert!(open_folder(&file).is_err());
    }
}
