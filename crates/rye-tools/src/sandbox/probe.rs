//! A program that tries to get out, by which it is known whether a sandbox holds on this machine.

use std::ffi::OsString;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::ExitCode;

/// Says on standard output what it could do and should not, or could not and should; nothing when all is right.
///
/// `words` are the folder that it may write, the one that it may not, what it may not read, and, in a whole sandbox, a repository
/// of its project.
pub(super) fn probe(words: &[OsString]) -> ExitCode {
    let [open, closed, secret, repositories @ ..] = words else { return ExitCode::from(2) };
    let (open, closed) = (Path::new(open).join("probe"), Path::new(closed).join("probe"));
    let attempts = [
        (fs::write(open, "").is_err(), "its own folder cannot be written"),
        (fs::write(closed, "").is_ok(), "a folder outside can be written"),
        (fs::read(secret).is_ok_and(|it| !it.is_empty()), "a hidden file can be read"),
        (
            repositories
                .iter()
                .any(|folder| fs::write(Path::new(folder).join("probe"), "").is_ok()),
            "a repository of the project can be written",
        ),
        (UdpSocket::bind("127.0.0.1:0").is_ok(), "the network can be used"),
    ];
    let problems: Vec<&str> =
        attempts.into_iter().filter_map(|(happened, what)| happened.then_some(what)).collect();
    tell(&problems.join(", "));
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::print_stdout, reason = "what it found goes to who started it")]
fn tell(problems: &str) {
    print!("{problems}");
}
