//! Runs a directive whose tools are programs: `run_programs PROJECT USER_SPACE DIRECTIVE`.
#![expect(clippy::print_stdout, reason = "a program talks to its terminal")]
#![expect(clippy::disallowed_methods, reason = "a program hands its environment over")]

use std::{ffi::OsString, path::Path, process::ExitCode};

use rye::sandbox::{ENVIRONMENT, Launcher, ProcessHost, launch};
use rye::{Host, ProviderChoice, RunReport, RunRequest, Rye, Setup, SystemClock, shipped_files};
use rye::{resolve::Spaces, thread::Cancel};

type Failure = Box<dyn std::error::Error>;

/// Runs the directive. `launcher` is a program that begins as `main` does.
pub(crate) async fn run(
    [project, user, id]: [&str; 3],
    launcher: Launcher,
) -> Result<RunReport, Failure> {
    let mut programs = ProcessHost::new(&std::env::temp_dir());
    programs.launcher = Some(launcher);
    // Without `PATH`, no program is found by its name.
    let set = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    programs.environment = ENVIRONMENT.iter().filter_map(set).collect();
    // What tools may not read: the home folder, and the operator's key wherever there is no whole sandbox.
    programs.home = Some(user.into());
    programs.hidden = vec![Path::new(user).join(".ai/config/keys/signing")];

    let (clock, cancel) = (SystemClock::new(), Cancel::new());
    let spaces = Spaces::new().with_project(project).with_user(user).with_shipped(shipped_files());
    let mut setup = Setup::new(spaces, clock.timestamp());
    setup.processes = Some(programs);
    let host = Host::new(&clock, &cancel);
    let mut request = RunRequest::new(id.parse()?, host.new_thread(&id.parse()?)?);
    request.provider = ProviderChoice::Steps;
    Ok(Rye::open(&setup)?.run(request, host).await?)
}

fn main() -> Result<ExitCode, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    // To start a tool, this program is started once more. Nothing may come before this.
    if let Some(code) = launch(&words) {
        return Ok(code);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [project, user, id] = words.as_slice() else { return Err("three words, please".into()) };
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(run([project, user, id], Launcher::of_this_program()?))?;
    let outputs = serde_json::json!(report.outcome.outputs);
    println!("{} {}: {outputs}", report.thread, report.outcome.state);
    Ok(ExitCode::SUCCESS)
}
