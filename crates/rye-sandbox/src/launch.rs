//! The entry point of the launcher.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument of the launcher.
pub(crate) const LAUNCH: &str = "--rye-launch";

/// The role that watches a program with everything that it starts, and ends it.
pub(crate) const SUPERVISE: &str = "supervise";

/// The role that gives up privileges and becomes the program, inside of bubblewrap, which can only start
/// programs.
#[cfg(target_os = "linux")]
pub(super) const CONFINE: &str = "confine";

/// The role that attempts to escape, as a test of the sandbox.
pub(crate) const PROBE: &str = "probe";

/// The output of the test if the sandbox held.
pub(crate) const HELD: &str = "held";

/// The launcher's exit code if the program could not be confined or started this time.
#[cfg(target_os = "linux")]
pub(super) const FAILED: u8 = 125;

/// The launcher's exit code if this machine does not support the sandbox.
pub(crate) const UNSUPPORTED: u8 = 126;

/// Runs the launcher if the command line asks for it. Otherwise returns `None`, and the program continues
/// normally.
///
/// A program that names itself as the launcher must call this function first, before it starts threads or
/// opens files. `words` are its arguments, starting with its own name.
#[must_use]
pub fn launch(words: &[OsString]) -> Option<ExitCode> {
    let [_, first, rest @ ..] = words else { return None };
    (first == LAUNCH).then(|| run(rest))
}

#[cfg(target_os = "linux")]
fn run(words: &[OsString]) -> ExitCode {
    use super::handover::SandboxProcess;
    use super::{confine, probe, supervise};

    let Some((part, rest)) = words.split_first() else { return refuse_use() };
    let done = match (part.to_str(), rest) {
        (Some(PROBE), _) => probe::probe(rest),
        (Some(SUPERVISE), [_, ..]) => supervise::supervise(rest),
        (Some(CONFINE), [plan, standing, program @ ..]) if !program.is_empty() => {
            SandboxProcess::take(plan, standing)
                .and_then(|below| confine::become_program(below, program))
        }
        _ => return refuse_use(),
    };
    ExitCode::from(code(done))
}

/// Returns the launcher's exit code. A fault is written to standard error.
#[cfg(target_os = "linux")]
pub(super) fn code(done: Result<u8, super::fault::Fault>) -> u8 {
    done.unwrap_or_else(|fault| {
        complain(&fault.to_string());
        if fault.is_lasting { UNSUPPORTED } else { FAILED }
    })
}

#[cfg(not(target_os = "linux"))]
fn run(_: &[OsString]) -> ExitCode {
    refuse_use()
}

fn refuse_use() -> ExitCode {
    complain("this starts programs for tools, and is not for calling by hand");
    ExitCode::from(2)
}

#[expect(clippy::print_stderr, reason = "standard error is the only way out of the launcher")]
fn complain(message: &str) {
    eprintln!("rye: {message}");
}
