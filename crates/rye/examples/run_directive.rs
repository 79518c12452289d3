//! Runs a directive of a project without a model: `run_directive PROJECT USER_SPACE DIRECTIVE`.
#![expect(clippy::print_stdout, reason = "a program talks to its terminal")]

use rye::{Host, ProviderChoice, RunReport, RunRequest, Rye, Setup, SystemClock, shipped_files};
use rye::{resolve::Spaces, thread::Cancel};

type Failure = Box<dyn std::error::Error>;

/// Runs the directive by those of its steps that name a call.
pub(crate) async fn run(project: &str, user: &str, id: &str) -> Result<RunReport, Failure> {
    let (clock, cancel) = (SystemClock::new(), Cancel::new());
    let spaces = Spaces::new().with_project(project).with_user(user).with_shipped(shipped_files());
    let rye = Rye::open(&Setup::new(spaces, clock.timestamp()))?;
    let host = Host::new(&clock, &cancel);
    let mut request = RunRequest::new(id.parse()?, host.new_thread(&id.parse()?)?);
    request.provider = ProviderChoice::Steps;
    Ok(rye.run(request, host).await?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [project, user, id] = words.as_slice() else { return Err("three words, please".into()) };
    let report = run(project, user, id).await?;
    let outputs = serde_json::json!(report.outcome.outputs);
    println!("{} {}: {outputs}", report.thread, report.outcome.state);
    Ok(())
}
