//! Complete writes to the standard streams.

use std::io;

/// Writes everything to standard output at once.
pub(super) fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    write_all(&mut io::stdout().lock(), bytes)
}

/// Writes everything to standard error at once.
pub(super) fn to_stderr(bytes: &[u8]) -> io::Result<()> {
    write_all(&mut io::stderr().lock(), bytes)
}

/// Writes everything. The lock prevents other writes in between. The stream may be non-blocking, because the
/// parent process can set that: then this function waits, and does not repeat written parts.
#[cfg(unix)]
fn write_all(end: &mut impl std::os::fd::AsFd, mut bytes: &[u8]) -> io::Result<()> {
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
fn write_all(end: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    end.write_all(bytes)?;
    end.flush()
}
