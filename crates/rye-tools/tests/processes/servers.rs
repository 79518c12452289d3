//! Tools of MCP servers: what they get, what they give, and what a server cannot do.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rye_sandbox::{Job, Rules, Variables};
use rye_thread::{OutputSink, OutputStream, Tool, ToolOutput, ToolStatus};
use rye_tools::mcp::{Connections, Reached, Server, ServerProgram, ToolSet, Wrapper};
use rye_types::SandboxMode;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::arena::{Arena, CANARY, authorised, launcher, living, shell};

/// A server of the fixture, in a project.
struct Place {
    arena: Arena,
    connections: Arc<Connections>,
    server: Server,
    pinned: Arc<ToolSet>,
}

/// The fixture, where the sandbox shows it: of the folder for temporary files, a program sees its own alone.
pub(super) fn server(arena: &Arena, argument: &str) -> Server {
    let program = arena.root.join("outside/mcp_server");
    if !program.exists() {
        std::fs::copy(launcher().with_file_name("mcp_server"), &program).unwrap();
    }
    let mut program = ServerProgram::new(program.to_str().unwrap());
    program.folder = Some(String::new());
    program.arguments = vec![argument.to_owned()];
    let mut server = Server::new("faults", program);
    server.startup_seconds = Some(60);
    server
}

pub(super) fn program(server: &mut Server) -> &mut ServerProgram {
    let Reached::Program(program) = &mut server.reached else { panic!("it is no program") };
    program
}

impl Place {
    async fn new(argument: &str) -> Self {
        let arena = Arena::new();
        let connections = Connections::new(&arena.processes(strongest(&arena), Rules::default()));
        let server = server(&arena, argument);
        let set = connections.discover(&server).await.unwrap().set;
        Self { arena, connections, server, pinned: Arc::new(set) }
    }

    fn wrapper(&self, tool: &str) -> Wrapper {
        Wrapper::new(self.server.clone(), Arc::clone(&self.pinned), tool)
    }

    fn tool(&self, tool: &str) -> Arc<dyn Tool> {
        self.wrapper(tool).tool(&json!({ "type": "object" }), &self.connections).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.tool(tool).call(authorised(arguments)).await
    }
}

pub(super) fn strongest(arena: &Arena) -> SandboxMode {
    let modes = SandboxMode::ALL.iter().copied().filter(|mode| *mode != SandboxMode::None);
    modes.into_iter().find(|mode| arena.in_mode(*mode).is_some()).unwrap_or(SandboxMode::None)
}

fn ok(content: Value) -> ToolOutput {
    ToolOutput::ok(content)
}

#[tokio::test]
async fn arguments_go_and_results_come() {
    let place = Place::new("").await;
    assert_eq!(place.call("echo", json!({ "a": [1, "b"] })).await, ok(json!({ "a": [1, "b"] })));
    let failed = place.call("fails", json!({})).await;
    assert_eq!(failed, ToolOutput::error(json!({ "error": "there is no such page" })));
    let refused = place.call("refuses", json!({})).await;
    let message = "server `faults`: the server answered with an error: not like this";
    assert_eq!(refused, ToolOutput::error(json!({ "error": message })));
    let long = place.call("long", json!({})).await.content;
    assert!(long.as_str().unwrap().contains("[176128 bytes left out]"));
}

#[tokio::test]
async fn what_is_fixed_no_caller_changes() {
    let place = Place::new("").await;
    let mut wrapper = place.wrapper("echo");
    wrapper.fixed = json!({ "action": "read" }).as_object().unwrap().clone();
    wrapper.nested_in = Some("params".to_owned());
    let nested = wrapper.clone().tool(&json!({}), &place.connections).unwrap();
    let sent = nested.call(authorised(json!({ "action": "erase", "tool": "dies" }))).await;
    let params = json!({ "action": "erase", "tool": "dies" });
    assert_eq!(sent, ok(json!({ "action": "read", "params": params })));
    wrapper.nested_in = None;
    let beside = wrapper.tool(&json!({}), &place.connections).unwrap();
    for arguments in [json!({ "action": "erase" }), json!({ "action": null })] {
        let refused = beside.call(authorised(arguments)).await;
        let message = "the argument `action` is fixed; leave it out";
        assert_eq!(refused, ToolOutput::refusal(json!({ "error": message })));
    }
    // Names that a caller gives are arguments and nothing else.
    let sent = beside.call(authorised(json!({ "name": "dies", "server": "other" }))).await;
    assert_eq!(sent, ok(json!({ "action": "read", "name": "dies", "server": "other" })));
}

#[tokio::test]
async fn one_server_serves_all_calls() {
    let place = Place::new("").await;
    let mark = format!("one-{}", std::process::id());
    let mut wrapper = place.wrapper("echo");
    program(&mut wrapper.server).arguments = vec!["".to_owned(), mark.clone()];
    let tool = wrapper.tool(&json!({}), &place.connections).unwrap();
    for n in 0..5 {
        assert_eq!(tool.call(authorised(json!({ "n": n }))).await, ok(json!({ "n": n })));
    }
    let servers = living(&mark).into_iter().filter(|line| !line.contains("--rye-launch")).count();
    assert_eq!(servers, 1, "{:?}", living(&mark));
    drop((tool, place));
    soon("the server ends with the connections", || living(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_server_is_left_to_end_then_asked_then_ended() {
    let arena = Arena::new();
    let connections = Connections::new(&arena.processes(strongest(&arena), Rules::default()));
    let mut server = server(&arena, "stubborn");
    let mark = format!("stubborn-{}", std::process::id());
    program(&mut server).arguments.push(mark.clone());
    connections.discover(&server).await.unwrap();
    let wrote = |name: &str| arena.root.join("project").join(name).exists();
    soon("its input ends", || wrote("ended-1-input")).await;
    assert!(!wrote("ended-2-asked"), "it is asked only after a while");
    soon("it is asked to end", || wrote("ended-2-asked")).await;
    soon("it is ended", || living(&mark).is_empty()).await;
}

/// The caller may be gone while the server still has its time to end, in which it makes a repository.
#[test]
fn a_repository_that_a_server_made_is_renamed_once_it_is_gone() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        let arena = Arena::bare();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let mut server = server(&arena, "stubborn");
        let mark = format!("guarded-{mode}-{}", std::process::id());
        program(&mut server).arguments.push(mark.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Connections::new(&processes).discover(&server)).unwrap();
        drop(runtime);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(soon("the server ends", || living(&mark).is_empty()));
        assert!(!project.join("made/.git").exists(), "{mode}");
        assert!(project.join("made/.git.quarantined/hooks").is_dir(), "{mode}");
        let told = shell(&processes, "true").content["quarantined"].clone();
        let expected = json!([{ "path": "made/.git", "renamed_to": "made/.git.quarantined" }]);
        assert_eq!(told, expected, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_changes_its_tools_is_not_called_any_more() {
    let place = Place::new("").await;
    assert_eq!(place.call("change", json!({})).await, ok(json!("changed")));
    let refused = place.call("echo", json!({})).await;
    assert_eq!(refused.status, ToolStatus::Refused, "{refused:?}");
    assert_eq!(refused.content["changes"], json!(["tool `more` is new"]));
    let mut other = place.wrapper("echo");
    let mut pinned = ToolSet::default();
    pinned.insert("echo", std::collections::BTreeMap::new());
    other.pinned = Arc::new(pinned);
    let other = other.tool(&json!({}), &place.connections).unwrap();
    let refused = other.call(authorised(json!({}))).await;
    assert_eq!(refused.status, ToolStatus::Refused, "{refused:?}");
}

#[tokio::test]
async fn a_server_gets_no_keys_and_reads_none() {
    let arena = Arena::new();
    let mode = strongest(&arena);
    let mut host = arena.host();
    host.modes = vec![mode];
    host.variables = Variables::by(|name| (name == "HANDED").then(|| "handed-secret".to_owned()));
    let processes =
        rye_sandbox::Processes::new(host, Rules::default(), &arena.root.join("project"));
    let connections = Connections::new(&Arc::new(processes.unwrap()));
    let mut server = server(&arena, "");
    program(&mut server).variables = vec!["HANDED".to_owned()];
    program(&mut server).environment.insert("FIXED".to_owned(), "value".to_owned());
    let set = connections.discover(&server).await.unwrap().set;
    let tool = Wrapper::new(server.clone(), Arc::new(set.clone()), "env");
    let tool = tool.tool(&json!({}), &connections).unwrap();
    let paths = [
        "home/.ssh/id_rsa",
        "home/.netrc",
        "project/key",
        "project/.ai/config/keys/signing/private_key.pem",
    ];
    let paths: Vec<String> =
        paths.iter().map(|path| arena.root.join(path).display().to_string()).collect();
    let seen = tool.call(authorised(json!({ "paths": paths }))).await.content;
    assert!(!seen["variables"].to_string().contains(CANARY), "{seen}");
    assert_eq!(
        (&seen["variables"]["FIXED"], &seen["variables"]["HANDED"]),
        (&json!("value"), &json!("[credential HANDED]"))
    );
    if mode != SandboxMode::None {
        assert!(!seen.to_string().contains(CANARY), "{mode}: {seen}");
    }
    // What everybody on the machine can read is the command lines, the launcher's among them.
    let handed = format!("value-{}", std::process::id());
    program(&mut server).environment.insert("FIXED".to_owned(), handed.clone());
    let tool = Wrapper::new(server.clone(), Arc::new(set), "env");
    let tool = tool.tool(&json!({}), &connections).unwrap();
    let seen = tool.call(authorised(json!({}))).await.content;
    assert_eq!(seen["variables"]["FIXED"], json!(handed));
    assert_eq!(living(&handed), Vec::<String>::new());
    program(&mut server).variables = vec!["UNSET".to_owned()];
    let error = connections.discover(&server).await.unwrap_err().to_string();
    assert_eq!(error, "the variable `UNSET`, which the server is handed, is not set");
}

#[tokio::test]
async fn a_server_that_asks_its_client_for_something_gets_nothing() {
    let place = Place::new("").await;
    let asked = place.call("asks", json!({})).await;
    assert_eq!(asked, ok(json!({ "answered": [false, false] })));
}

/// Keeps what it is told.
#[derive(Default)]
struct Told(Mutex<String>);

impl OutputSink for Told {
    fn output(&self, _: OutputStream, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

#[tokio::test]
async fn progress_is_told_and_who_stops_waiting_says_so() {
    let place = Place::new("").await;
    let mut wrapper = place.wrapper("slow");
    wrapper.timeout_seconds = Some(1);
    let tool = wrapper.tool(&json!({}), &place.connections).unwrap();
    let told = Told::default();
    let late = tool.call_with_sink(authorised(json!({})), &told).await;
    let message = "server `faults`: the server did not answer within 1 s";
    assert_eq!(late, ToolOutput::error(json!({ "error": message })));
    assert_eq!(*told.0.lock().unwrap(), "1 of 2 half\n");
    let cancelled = place.arena.root.join("project/cancelled");
    soon("the server is told when time is up", || cancelled.exists()).await;
    std::fs::remove_file(&cancelled).unwrap();
    // Dropped in the middle, as by a thread that is cancelled.
    let slow = place.tool("slow");
    let told = Told::default();
    let begun = Instant::now();
    let call = slow.call_with_sink(authorised(json!({})), &told);
    let half = async {
        while told.0.lock().unwrap().is_empty() && begun.elapsed() < Duration::from_secs(20) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! { _ = call => {}, () = half => {} }
    soon("the server is told when a call is dropped", || cancelled.exists()).await;
    assert_eq!(place.call("echo", json!({ "a": 1 })).await, ok(json!({ "a": 1 })));
}

/// Waits for what happens by itself, and lets it.
async fn soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_a_few_times() {
    let place = Place::new("").await;
    for _ in 0..3 {
        let gone = place.call("dies", json!({})).await;
        let message = "server `faults`: the server is gone: the connection ended";
        assert_eq!((gone.status, &gone.content["error"]), (ToolStatus::Error, &json!(message)));
    }
    let message = "server `faults`: the server was started 3 times and did not last";
    let refused = place.call("echo", json!({})).await;
    assert_eq!(refused, ToolOutput::error(json!({ "error": message })));
}

#[tokio::test]
async fn a_message_without_end_ends_the_connection() {
    let place = Place::new("").await;
    let gone = place.call("monster", json!({})).await;
    let message = "server `faults`: the server is gone: it sent a message of more than 4 MiB";
    assert_eq!(gone.content["error"], message);
    assert_eq!(place.call("echo", json!({ "a": 1 })).await, ok(json!({ "a": 1 })));
}

#[tokio::test]
async fn a_message_of_too_many_values_is_an_error() {
    let place = Place::new("").await;
    let refused = place.call("many", json!({})).await;
    let message = "server `faults`: the server answered with an error: its answer has more than 100000 values";
    assert_eq!(refused.content["error"], message);
    assert_eq!(place.call("echo", json!({ "a": 1 })).await, ok(json!({ "a": 1 })));
}

#[tokio::test]
async fn what_is_no_protocol_is_passed_over_or_refused() {
    let place = Place::new("garbage").await;
    assert_eq!(place.call("echo", json!({ "a": 1 })).await, ok(json!({ "a": 1 })));
    for (argument, expected) in [
        ("flood", "the server did not begin: it sent a message of more than 4 MiB"),
        ("early", "the server did not begin: it"),
        ("mute", "the server did not answer within 1 s"),
    ] {
        let mut server = server(&place.arena, argument);
        if argument == "mute" {
            server.startup_seconds = Some(1);
        }
        let error = place.connections.discover(&server).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{argument}: {error}");
    }
}

/// A project could replace the parts that a program looks for in the folder that it starts in.
#[tokio::test]
async fn a_server_without_a_folder_starts_in_an_empty_one() {
    let arena = Arena::new();
    std::fs::write(arena.root.join("project/parts.py"), "").unwrap();
    let project = arena.root.join("project").display().to_string();
    for &mode in SandboxMode::ALL {
        let Some(processes) = arena.in_mode(mode) else { continue };
        for is_apart in [true, false] {
            let mut job = Job::new(["sh", "-c", "pwd; ls -A"].map(Into::into).into());
            job.is_apart = is_apart;
            let (_server, mut pipes) = processes.start_server(&job).await.unwrap();
            let mut told = String::new();
            pipes.stdout.read_to_string(&mut told).await.unwrap();
            let (folder, entries) = told.split_once('\n').unwrap();
            assert_eq!(folder == project, !is_apart, "{mode}: {told}");
            assert_eq!(entries.contains("parts.py"), !is_apart, "{mode}: {told}");
            assert_eq!(entries.is_empty(), is_apart, "{mode}: {told}");
        }
    }
}
