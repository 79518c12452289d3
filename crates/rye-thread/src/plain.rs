//! Reading files that somebody else may have laid out.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of the plain file at `path`, links followed; at most `most` of them.
///
/// What lies in a project may be a pipe, which would be waited for, a device, which never ends, or a file of more bytes
/// than there is memory.
///
/// # Errors
///
/// What the system says; anything else than a plain file, and one that is longer.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Before opening, because opening a pipe waits for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    // Counted while reading, because a file can grow after it was measured.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    Err(io::Error::other(format!("it is longer than {most} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "four").unwrap();
        assert_eq!(read_plain(&path, 4).unwrap(), b"four");
        assert_eq!(read_plain(&path, 3).unwrap_err().to_string(), "it is longer than 3 bytes");
        // A file with a hole in it takes no room on the disk.
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_plain(&path, 1 << 20).is_err());
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/dev/zero")] {
            assert!(read_plain(path, 10).is_err(), "{}", path.display());
        }
    }
}
