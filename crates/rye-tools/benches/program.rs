//! What a sandbox adds to the start of a program: `true` through each mode, and without any.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use divan::Bencher;
use rye_caps::{Authority, Capability, Grant, Layer, LayerName};
use rye_sandbox::launch;
use rye_sandbox::{Launcher, ProcessHost, Processes, Rules};
use rye_thread::{Palette, PaletteEntry, Tool, ToolSpec, ToolStatus};
use rye_tools::CommandTool;
use rye_types::{Effect, SandboxMode};
use serde_json::json;
use tempfile::TempDir;

/// This program is its own launcher.
fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = launch(&words) {
        return code;
    }
    divan::main();
    ExitCode::SUCCESS
}

const SAMPLES: u32 = 200;

#[divan::bench(sample_count = SAMPLES, sample_size = 1)]
fn without_launcher(bencher: Bencher<'_, '_>) {
    start(bencher, None);
}

#[divan::bench(args = [SandboxMode::Bubblewrap, SandboxMode::Namespaces, SandboxMode::Landlock, SandboxMode::None], sample_count = SAMPLES, sample_size = 1)]
fn with_launcher(bencher: Bencher<'_, '_>, mode: SandboxMode) {
    start(bencher, Some(mode));
}

/// A project with a repository, and what starts programs in it.
fn processes(mode: Option<SandboxMode>) -> (TempDir, Arc<Processes>) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("because the folder is there");
    let project = folder.path().join("project");
    for part in [".git/objects", ".git/refs", ".ai/config", ".ai/threads", "src"] {
        std::fs::create_dir_all(project.join(part)).expect("because the folder is new");
    }
    let calls = folder.path().join("calls");
    std::fs::create_dir(&calls).expect("because the folder is new");
    let mut host = ProcessHost::new(&calls);
    host.launcher = mode.and(Launcher::of_this_program().ok());
    host.modes = mode.into_iter().collect();
    let processes = Processes::new(host, Rules::default(), &project);
    (folder, Arc::new(processes.expect("because the project is there")))
}

/// Returns a palette of one tool, and the authority to call it.
fn palette(tool: Arc<dyn Tool>) -> (Palette, Authority) {
    let capability: Capability = "rye.execute.tool.a.true".parse().expect("because it is one");
    let spec = ToolSpec::new(ID, "Does nothing.", json!({}));
    let entry = PaletteEntry::new(ID, spec, capability, Effect::Once, tool);
    let palette = Palette::new(vec![entry]).expect("because it is one tool");
    (palette, Authority::new(Layer::new(LayerName::Operator, Grant::everything())))
}

/// The id of the tool.
const ID: &str = "a/true";

fn start(bencher: Bencher<'_, '_>, mode: Option<SandboxMode>) {
    start_in(bencher, mode, 0);
}

/// The same in a project of 20,000 files, which is looked at before and after the program.
#[divan::bench(args = [SandboxMode::Bubblewrap, SandboxMode::Namespaces, SandboxMode::Landlock, SandboxMode::None], sample_count = 20, sample_size = 1)]
fn in_a_large_project(bencher: Bencher<'_, '_>, mode: SandboxMode) {
    start_in(bencher, Some(mode), 100);
}

/// Starts a program in a project with so many folders of 200 files.
#[expect(clippy::print_stdout, reason = "a sandbox that is not measured is named")]
fn start_in(bencher: Bencher<'_, '_>, mode: Option<SandboxMode>, folders: usize) {
    let (folder, processes) = processes(mode);
    for number in 0..folders {
        let place = folder.path().join(format!("project/src/{number}"));
        std::fs::create_dir(&place).expect("because the folder is new");
        for file in 0..200 {
            std::fs::write(place.join(file.to_string()), "").expect("because the folder is there");
        }
    }
    let report = processes.sandbox().expect("because the machine has room");
    if report.mode() != mode.unwrap_or(SandboxMode::None) {
        println!("not measured: {report}");
        return;
    }
    let (palette, authority) = palette(CommandTool::new("/bin/true").tool(&processes));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("because the system gives one");
    bencher.bench_local(|| {
        let output = runtime.block_on(palette.call(&authority, ID, json!({})));
        let status = output.map(|output| output.status);
        assert_eq!(status, Some(ToolStatus::Ok), "what is measured is what it says");
    });
}
