//! Bounded reading of untrusted files.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::path::Path;

/// Returns the bytes of the plain file at `path`, at most `most` of them. Links are followed.
///
/// A project may hold a pipe, on which reading would block, a device without an end, or a file larger than the memory.
///
/// # Errors
///
/// The error of the system, or an error for a longer file and for anything that is not a plain file.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_bounded(path, most, |mut file, bytes| file.read_to_end(bytes))
}

/// Returns the first line of a plain file, or all of a file without a line end. The rest is not read.
///
/// # Errors
///
/// As [`read_plain`], which bounds the whole file.
pub fn read_plain_line(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_bounded(path, most, |file, bytes| BufReader::new(file).read_until(b'\n', bytes))
}

fn read_bounded(
    path: &Path,
    most: u64,
    read: impl FnOnce(Take<File>, &mut Vec<u8>) -> io::Result<usize>,
) -> io::Result<Vec<u8>> {
    // Checked before opening, because opening a pipe waits for its other end.
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let too_long = || Err(io::Error::other(format!("it is longer than {most} bytes")));
    // Checked before reading, so that a sparse file takes no memory.
    if most < found.len() {
        return too_long();
    }
    let mut bytes = Vec::new();
    // Counted while reading, because a file can grow after it was measured.
    read(File::open(path)?.take(most.saturating_add(1)), &mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(bytes);
    }
    too_long()
}

/// Returns an upper bound of the number of values in a JSON text.
///
/// Each value but the first of a list follows a comma, and the first follows a bracket.
#[must_use]
pub fn count_json_values(json: &[u8]) -> usize {
    let mut count = 0;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
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

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in [("1", 0), (r#"{"a":[1,2],"b,[{":",[{\\\",["}"#, 4), ("[[],[],{}]", 6)]
        {
            assert_eq!(count_json_values(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/dev/zero")] {
            assert!(read_plain(path, 10).is_err(), "{}", path.display());
        }
    }
}
