//! Reading of files and pipes that the operator named on the command line.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::open::{Kind, Links, open};
use crate::read::read_all;

/// Returns the bytes of a plain file, or of a pipe into which a program writes, at most `most` of them. Links are followed.
///
/// # Errors
///
/// As for [`read_plain`](crate::read_plain), and if no program opens a pipe for writing within `limit`. A program that has opened it
/// is waited for.
pub fn read_plain_or_pipe(path: &Path, most: u64, limit: Duration) -> io::Result<Vec<u8>> {
    let file = open(path, Links::Follow, &[Kind::Plain, Kind::Pipe])?;
    match Kind::of(&file)? {
        #[cfg(unix)]
        Kind::Pipe => system::read_pipe(file, most, limit),
        _ => read_all(file, most),
    }
}

#[cfg(unix)]
mod system {
    //! Waiting for the writer of a pipe.

    use std::fs::File;
    use std::io::{self, Read as _};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    use crate::Refusal;

    /// Reads a pipe that was opened without waiting.
    pub(super) fn read_pipe(mut pipe: File, most: u64, limit: Duration) -> io::Result<Vec<u8>> {
        // So many bytes hold any key, so that growing leaves no second copy of a secret.
        let mut bytes = Vec::with_capacity(1 << 16);
        let mut first = [0];
        if !has_writer(&mut pipe, &mut first, &mut bytes)? {
            let came = wait(&pipe, limit)?;
            // A writer that has written nothing so far is no event.
            if !came && !has_writer(&mut pipe, &mut first, &mut bytes)? {
                let seconds = limit.as_secs();
                let message = format!(
                    "it is a pipe that no program opened for writing within {seconds} s; start that program first"
                );
                return Err(io::Error::other(message));
            }
        }
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags.difference(OFlags::NONBLOCK))?;
        pipe.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        match u64::try_from(bytes.len()) {
            Ok(length) if length <= most => Ok(bytes),
            _ => Err(Refusal::TooLong { most }.into()),
        }
    }

    /// Returns `true` if a program has the pipe open for writing or wrote into it, and keeps a byte that was read.
    fn has_writer(pipe: &mut File, first: &mut [u8; 1], bytes: &mut Vec<u8>) -> io::Result<bool> {
        match pipe.read(first) {
            Ok(0) => Ok(false),
            Ok(_) => {
                bytes.extend_from_slice(first);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Waits for the first byte. Returns `false` if neither it nor the end of a writer came in time.
    fn wait(pipe: &File, limit: Duration) -> io::Result<bool> {
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        let mut pipes = [PollFd::new(pipe, PollFlags::IN)];
        let events = rustix::io::retry_on_intr(|| poll(&mut pipes, Some(&limit)))?;
        Ok(events > 0)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        (folder, path)
    }

    #[test]
    fn a_pipe_without_a_writer_is_an_error_after_the_time_limit() {
        let (_folder, path) = pipe();
        let error = read_plain_or_pipe(&path, 10, Duration::from_millis(10)).unwrap_err();
        let told =
            "it is a pipe that no program opened for writing within 0 s; start that program first";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_within_its_bound() {
        for (text, most, expected) in
            [("text", 4, Some("text")), ("", 4, Some("")), ("long text", 4, None)]
        {
            let (_folder, path) = pipe();
            std::thread::scope(|scope| {
                scope.spawn(|| fs::write(&path, text));
                let read = read_plain_or_pipe(&path, most, Duration::from_secs(60));
                assert_eq!(read.ok().as_deref(), expected.map(str::as_bytes), "{text}");
            });
        }
    }

    #[test]
    fn a_plain_file_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        assert_eq!(read_plain_or_pipe(&path, 4, Duration::ZERO).unwrap(), b"text");
        assert!(read_plain_or_pipe(folder.path(), 4, Duration::ZERO).is_err());
    }
}
