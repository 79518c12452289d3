//! A program that attempts to escape, as a test of the sandbox on this machine.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::path::Path;

use nix::libc::{
    EAGAIN, EBUSY, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC, ETIMEDOUT,
};

use super::fault::Fault;
use super::launch_protocol::HELD;

/// Attempts to escape. Reports on standard output that the sandbox held, or lists the actions that should
/// have failed or succeeded.
///
/// `words` are a writable folder, a closed folder, a hidden file and, in a whole sandbox, a repository of the
/// project. An attempt that fails because a resource is exhausted is a fault, because it proves nothing about
/// the sandbox.
pub(super) fn probe(words: &[OsString]) -> Result<u8, Fault> {
    let [open, closed, secret, repositories @ ..] = words else { return Ok(2) };
    let write = |folder: &OsString| fs::write(Path::new(folder).join("probe"), "");
    let mut problems = Vec::new();
    if !succeeds("write its own folder", write(open))? {
        problems.push("its own folder cannot be written");
    }
    if succeeds("write a folder outside", write(closed))? {
        problems.push("a folder outside can be written");
    }
    if succeeds("read a hidden file", fs::read(secret).and_then(|text| refuse_empty(&text)))? {
        problems.push("a hidden file can be read");
    }
    for repository in repositories {
        if succeeds("write a repository", write(repository))? {
            problems.push("a repository of the project can be written");
        }
    }
    if succeeds("open a socket", UdpSocket::bind("127.0.0.1:0").map(drop))? {
        problems.push("the network can be used");
    }
    if problems.is_empty() {
        tell(HELD);
        return Ok(0);
    }
    tell(&problems.join(", "));
    Ok(1)
}

/// Treats an empty file as missing, because an empty file covers a hidden one.
fn refuse_empty(text: &[u8]) -> io::Result<()> {
    if text.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) }
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
fn tell(problems: &str) {
    print!("{problems}");
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
