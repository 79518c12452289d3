//! `cargo xtask`: the checks and the generated files that cargo cannot express.
//!
//! Every task works on the workspace of this package, whatever the current folder is. A task that fails says
//! what to run next. `tidy` is also a `#[test]`, so `cargo test` checks its rules too.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

mod flags;

mod bench;
mod book;
mod ci;
mod codegen;
mod e2e;
mod fixtures;
mod fuzz;
mod mcp;
mod prompts;
mod sdk;
mod soak;
mod tidy;
mod transcript;

mod files;
mod generated;
mod packages;
mod process;
mod workspace;

use std::{path::Path, process::ExitCode};

use flags::Task;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = flags::parse(&arguments).and_then(|task| run(task, workspace_root()));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task, root: &Path) -> anyhow::Result<()> {
    match task {
        Task::Bench => bench::run(root),
        Task::BenchThread => bench::thread::run(root),
        Task::BenchView => bench::view::run(root),
        Task::Book => book::run(root),
        Task::Ci => ci::run(root),
        Task::Codegen(mode) => codegen::run(root, mode),
        Task::E2eExported => e2e::exported::run(root),
        Task::E2eExports => e2e::exports::run(root),
        Task::E2eInstall => e2e::install::run(root),
        Task::E2eLlama => e2e::llama::run(root),
        Task::E2eNeighbours => e2e::neighbours::run(root),
        Task::E2eRestate => e2e::restate::run(root),
        Task::E2eView => e2e::view::run(root),
        Task::Fixtures(mode) => fixtures::run(root, mode),
        Task::Fuzz(request) => fuzz::run(root, &request),
        Task::Mcp => mcp::run(root),
        Task::Prompts(request) => prompts::run(root, &request),
        Task::Sdk => sdk::run(root),
        Task::Soak(request) => soak::run(root, request),
        Task::Tidy => tidy::run(root),
        Task::Transcript => transcript::run(root),
        Task::Help => {
            println!("{}", flags::HELP);
            Ok(())
        }
    }
}

/// The folder that holds the workspace's `Cargo.toml`.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("because xtask/ is a folder of the workspace")
}
