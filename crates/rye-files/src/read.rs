//! Bounded reading of plain files.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::path::Path;

use crate::{Refusal, open_plain, open_unlinked};

/// Returns the bytes of the plain file at `path`, at most `most` of them. Links are followed.
///
/// # Errors
///
/// The error of the system, or a [`Refusal`] for a longer file and for anything that is not a plain file.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(open_plain(path)?, most)
}

/// Returns the bytes of the plain file at `path`, as [`read_plain`] does, and refuses a link in its place.
///
/// # Errors
///
/// As for [`read_plain`].
pub fn read_unlinked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(open_unlinked(path)?, most)
}

/// Returns the first line of a plain file, or all of a file without a line end. The rest is not read.
///
/// # Errors
///
/// As [`read_plain`], which bounds the whole file.
pub fn read_plain_line(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let read = |file, bytes: &mut Vec<u8>| BufReader::new(file).read_until(b'\n', bytes);
    read_bounded(open_plain(path)?, most, Vec::new(), read)
}

/// Reads an opened file to its end.
pub(crate) fn read_all(file: File, most: u64) -> io::Result<Vec<u8>> {
    // One byte more than the file has, so that reading to its end copies nothing, and leaves no second copy of a secret.
    let room = file.metadata()?.len().min(most).saturating_add(1);
    let bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    read_bounded(file, most, bytes, |mut file, bytes| file.read_to_end(bytes))
}

fn read_bounded(
    file: File,
    most: u64,
    mut bytes: Vec<u8>,
    read: impl FnOnce(Take<File>, &mut Vec<u8>) -> io::Result<usize>,
) -> io::Result<Vec<u8>> {
    // Checked before reading, so that a sparse file takes no time.
    if most < file.metadata()?.len() {
        return Err(Refusal::TooLong { most }.into());
    }
    // Counted while reading, because a file can grow after it was measured.
    read(file.take(most.saturating_add(1)), &mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= most => Ok(bytes),
        _ => Err(Refusal::TooLong { most }.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_more_is_read_than_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "four").unwrap();
        assert_eq!(read_plain(&path, 4).unwrap(), b"four");
        assert_eq!(read_plain(&path, 3).unwrap_err().to_string(), "it is longer than 3 bytes");
        // A sparse file takes no room on the disk.
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_plain(&path, 1 << 20).is_err());
    }

    /// Returns the number of bytes that this thread of the test has read.
    #[cfg(target_os = "linux")]
    fn bytes_read() -> u64 {
        let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
        counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    }

    #[test]
    fn a_first_line_is_read_without_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one\ntwo").unwrap();
        assert_eq!(read_plain_line(&path, 7).unwrap(), b"one\n");
        assert!(read_plain_line(&path, 6).is_err(), "the file is longer");
        assert!(read_plain_line(folder.path(), 6).is_err(), "a folder is no plain file");
        fs::write(&path, "one").unwrap();
        assert_eq!(read_plain_line(&path, 7).unwrap(), b"one");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_first_line_of_a_long_file_takes_one_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one\n".repeat(1 << 20)).unwrap();
        let before = bytes_read();
        read_plain_line(&path, 1 << 30).unwrap();
        let read = bytes_read() - before;
        assert!(read < 1 << 17, "{read} bytes are read");
    }
}
