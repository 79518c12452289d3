//! Attempts to escape, as a test of the sandbox on this machine.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::UdpSocket;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use nix::libc::{
    EAGAIN, EBUSY, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, ENXIO, ETIMEDOUT,
    O_NONBLOCK, O_TRUNC,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::getppid;

use super::fault::Fault;
use super::plan::TEMPORARY;
use super::{Attempted, Attempts, Plan, Promise};

/// Attempts to escape from the sandbox of this process, and reports on standard output.
///
/// An attempt that fails because a resource is exhausted is a fault, because it proves nothing about the sandbox.
pub(super) fn probe(plan: &Plan, attempts: &Attempts, landlock: u8) -> Result<u8, Fault> {
    let write = |folder: &Path| fs::write(folder.join("probe"), "");
    let can_work = succeeds("write its own folder", write(&plan.temporary()))?;
    let mut broken = Vec::new();
    for (promise, action, attempt) in [
        (Promise::WriteElsewhere, "write a folder outside", write(plan.scratch.path())),
        (Promise::WriteElsewhere, "shorten a file outside", shorten(&attempts.closed)),
        (
            Promise::ReadKeys,
            "read a hidden file",
            fs::read(&attempts.secret).and_then(|text| refuse_empty(&text)),
        ),
        (Promise::WritePipes, "open a pipe outside", open_pipe(plan, &attempts.pipe)),
        (Promise::ChangeRepositories, "write a repository", write(&attempts.repository)),
        (Promise::UseNetwork, "open a socket", UdpSocket::bind("127.0.0.1:0").map(drop)),
        (
            Promise::ReachServices,
            "make a pair of sockets for datagrams",
            UnixDatagram::pair().map(drop),
        ),
        (Promise::SignalProcesses, "signal the process above", signal(plan)),
    ] {
        if succeeds(action, attempt)? && !broken.contains(&promise) {
            broken.push(promise);
        }
    }
    let enforcement = plan.enforcement(landlock);
    let found = serde_json::to_string(&Attempted { enforcement, can_work, broken });
    tell(&found.map_err(Fault::at("tell the result"))?);
    Ok(0)
}

/// Treats an empty file as missing, because an empty file covers a hidden one.
fn refuse_empty(text: &[u8]) -> io::Result<()> {
    if text.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
}

/// Shortens a file by its path, and by opening it only for reading.
fn shorten(path: &Path) -> io::Result<()> {
    let by_path = nix::unistd::truncate(path, 0).map_err(io::Error::from);
    by_path.or_else(|_| {
        // This shortens the file before the answer says whether it may be read.
        OpenOptions::new().read(true).custom_flags(O_TRUNC).open(path).map(drop)
    })
}

/// Opens a pipe for writing. If no program reads it, the kernel says so only to a process that may write it.
///
/// With mounts, everything below the usual temporary folder is the program's own.
fn open_pipe(plan: &Plan, path: &Path) -> io::Result<()> {
    if plan.mode.is_whole() && path.starts_with(TEMPORARY) {
        return Err(io::ErrorKind::NotFound.into());
    }
    match OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(ENXIO) => Ok(()),
        opened => opened.map(drop),
    }
}

/// Sends the process above a signal that it ignores. In a namespace of processes, that one belongs to the sandbox.
fn signal(plan: &Plan) -> io::Result<()> {
    match plan.mode.is_whole() {
        true => Err(io::ErrorKind::NotFound.into()),
        false => kill(getppid(), Signal::SIGURG).map_err(io::Error::from),
    }
}
/// Returns `true` if an attempt succeeded, and `false` if it was refused.
fn succeeds(action: &str, attempt: io::Result<()>) -> Result<bool, Fault> {
    match attempt {
        Ok(()) => Ok(true),
        Err(error) if is_used_up(&error) => Err(Fault::at(action)(error)),
        Err(_) => Ok(false),
    }
}

/// Returns `true` for errors of exhausted resources or timeouts, as opposed to a rule.
fn is_used_up(error: &io::Error) -> bool {
    const ERRORS: [i32; 11] =
        [EAGAIN, EBUSY, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, ETIMEDOUT];
    error.raw_os_error().is_some_and(|errno| ERRORS.contains(&errno))
}

#[expect(clippy::print_stdout, reason = "what it found goes to who started it")]
fn tell(found: &str) {
    println!("{found}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_says_nothing_of_a_sandbox() {
        for (errno, expected) in [
            (nix::libc::EACCES, Some(false)),
            (nix::libc::EROFS, Some(false)),
            (nix::libc::EPERM, Some(false)),
            (nix::libc::ENOENT, Some(false)),
            (ENOSPC, None),
            (EMFILE, None),
            (ENFILE, None),
            (EAGAIN, None),
        ] {
            let attempt = succeeds("write", Err(io::Error::from_raw_os_error(errno)));
            assert_eq!(attempt.ok(), expected, "{errno}");
        }
        assert!(succeeds("write", Ok(())).unwrap());
    }
}
