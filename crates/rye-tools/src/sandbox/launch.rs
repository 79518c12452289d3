//! The launcher's entry: which part of the work this process does.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument that makes a program the launcher.
pub(crate) const LAUNCH: &str = "--rye-launch";

/// Watches a program and everything that it starts, and ends it.
pub(crate) const SUPERVISE: &str = "supervise";

/// Gives up what the program is not to have, and becomes the program: within bubblewrap, which can start nothing but programs.
#[cfg(target_os = "linux")]
pub(super) const CONFINE: &str = "confine";

/// Tries to get out, to see whether the sandbox holds.
pub(crate) const PROBE: &str = "probe";

/// The word by which the probe says that it did not get out.
pub(crate) const HELD: &str = "held";

/// The launcher's exit code if the program could not be confined or started this time.
#[cfg(target_os = "linux")]
pub(super) const FAILED: u8 = 125;

/// The launcher's exit code if this machine cannot do what the sandbox needs.
pub(crate) const UNSUPPORTED: u8 = 126;

/// Does the launcher's work when the command line asks for it; otherwise `None`, and the program goes on as itself.
///
/// A program that gives its own path as the launcher has to call this first of all, before it starts threads or opens
/// files. `words` are its arguments, its own name first.
#[must_use]
pub fn launch(words: &[OsString]) -> Option<ExitCode> {
    let [_, first, rest @ ..] = words else { return None };
    (first == LAUNCH).then(|| run(rest))
}

#[cfg(target_os = "linux")]
fn run(words: &[OsString]) -> ExitCode {
    use super::handover::Below;
    use super::{confine, probe, supervise};

    let Some((part, rest)) = words.split_first() else { return misused() };
    let done = match (part.to_str(), rest) {
        (Some(PROBE), _) => probe::probe(rest),
        (Some(SUPERVISE), [_, ..]) => supervise::supervise(rest),
        (Some(CONFINE), [plan, standing, program @ ..]) if !program.is_empty() => {
            Below::take(plan, standing).and_then(|below| confine::become_program(below, program))
        }
        _ => return misused(),
    };
    ExitCode::from(code(done))
}

/// The launcher's exit code. A fault is written to standard error.
#[cfg(target_os = "linux")]
pub(super) fn code(done: Result<u8, super::fault::Fault>) -> u8 {
    done.unwrap_or_else(|fault| {
        complain(&fault.to_string());
        if fault.is_lasting { UNSUPPORTED } else { FAILED }
    })
}

#[cfg(not(target_os = "linux"))]
fn run(_: &[OsString]) -> ExitCode {
    misused()
}

fn misused() -> ExitCode {
    complain("this starts programs for tools, and is not for calling by hand");
    ExitCode::from(2)
}

#[expect(clippy::print_stderr, reason = "standard error is the only way out of the launcher")]
fn complain(message: &str) {
    eprintln!("rye: {message}");
}
