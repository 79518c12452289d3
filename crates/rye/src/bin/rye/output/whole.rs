//! Writing to the ends of the program until everything is written.

use std::io;

/// Writes to standard output, at once and all of it.
pub(super) fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    written(&mut io::stdout().lock(), bytes)
}

/// Writes to standard error, at once and all of it.
pub(super) fn to_stderr(bytes: &[u8]) -> io::Result<()> {
    written(&mut io::stderr().lock(), bytes)
}

/// Nobody else writes between the parts, because the lock is held. Whoever started the program may have made the end one that does
/// not wait: it is waited for here, and what was written before is not written again.
#[cfg(unix)]
fn written(end: &mut impl std::os::fd::AsFd, mut bytes: &[u8]) -> io::Result<()> {
    use rustix::io::Errno;
    while !bytes.is_empty() {
        match rustix::io::write(end.as_fd(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) if error == Errno::AGAIN || error == Errno::WOULDBLOCK => {
                until_it_can_be_written(end)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn until_it_can_be_written(end: &impl std::os::fd::AsFd) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    match poll(&mut [PollFd::new(end, PollFlags::OUT)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn written(end: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    end.write_all(bytes)?;
    end.flush()
}
