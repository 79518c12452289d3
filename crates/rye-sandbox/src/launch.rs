//! The entry point of the launcher.

use std::ffi::OsString;
use std::process::ExitCode;

use super::launch_protocol::{LAUNCH, complain};

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
    use super::launch_protocol::{CONFINE, SUPERVISE, code};
    use super::{confine, supervise};

    let Some((part, rest)) = words.split_first() else { return refuse_use() };
    let done = match (part.to_str(), rest) {
        (Some(SUPERVISE), program) => supervise::supervise(program),
        (Some(CONFINE), [plan, standing, launcher, program @ ..]) => {
            SandboxProcess::take(plan, standing, launcher)
                .and_then(|below| confine::become_program(below, program))
        }
        _ => return refuse_use(),
    };
    ExitCode::from(code(done))
}

#[cfg(not(target_os = "linux"))]
fn run(_: &[OsString]) -> ExitCode {
    refuse_use()
}

fn refuse_use() -> ExitCode {
    complain("this starts programs for tools, and is not for calling by hand");
    ExitCode::from(2)
}
