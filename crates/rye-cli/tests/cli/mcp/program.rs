//! How the program starts a server, and when it does not.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use crate::session::Session;

#[test]
fn a_client_that_says_nothing_is_no_failure() {
    insta::assert_snapshot!(Session::new().rye("mcp --trust TRUST"));
}

#[test]
fn what_is_too_dangerous_is_refused_unless_it_is_acknowledged() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("mcp --allow rye.*"));
    insta::assert_snapshot!(
        session
            .rye("mcp --allow rye.* --acknowledge unrestricted=tests --acknowledge elevated=tests")
    );
    insta::assert_snapshot!(session.rye("mcp --allow rye.* --acknowledge unrestricted"));
}

#[test]
fn a_port_takes_a_token_once_more_than_reading_is_allowed() {
    let session = Session::new();
    let line = "mcp --http 127.0.0.1:0 --allow rye.execute.tool.rye.file-system.read";
    insta::assert_snapshot!(session.rye(line));
    insta::assert_snapshot!(session.rye_with(line, &[("RYE_MCP_TOKEN", "short")]));
}

#[test]
fn a_client_approves_of_nothing_where_nothing_can_wait() {
    let session = Session::new();
    insta::assert_snapshot!(
        session.rye("mcp --approve-by-client --allow rye.execute.tool.rye.file-system.read")
    );
    let served =
        session.rye("mcp --trust TRUST --approve-by-client --allow rye.execute.directive.notes.*");
    assert!(served.ends_with("exit 0\n"), "{served}");
}

#[test]
fn an_address_that_other_machines_reach_is_refused() {
    insta::assert_snapshot!(Session::new().rye("mcp --http 0.0.0.0:0"));
}

#[test]
fn an_origin_is_a_whole_one() {
    for origin in ["*", "http://*:1", "localhost:6274", "http://localhost", "http://a/b:1", "null"]
    {
        let output = Session::new().rye(&format!("mcp --http 127.0.0.1:0 --allow-origin {origin}"));
        assert!(
            output.contains("write scheme, host and port") && output.ends_with("exit 2\n"),
            "{output}"
        );
    }
}

/// Whoever lets clients start programs is told what those are not kept from, and so are the clients.
#[test]
fn a_weak_sandbox_is_told_of_at_the_start() {
    let session = Session::new();
    session.put("../home/.ai/config/agent/processes.yaml", "sandbox: off\n");
    let own = [("RYE_DEV_MODE", "1")];
    let warning = "warning: programs run in the sandbox `none`, which does not keep everything in";
    let served = session.rye_with("mcp --trust TRUST --allow rye.execute.directive.notes.*", &own);
    assert!(served.contains(warning) && served.ends_with("exit 0\n"), "{served}");
    let reading = session.rye_with("mcp --trust TRUST", &own);
    assert!(!reading.contains("sandbox"), "{reading}");
}

/// A client that asks on and on and reads one answer alone does not keep the server from ending.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a server that is stopped has to be a program")]
fn a_client_that_does_not_read_does_not_keep_the_server() {
    let session = Session::new();
    let mut server = Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(["mcp", "--trust", &session.trust()])
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut asks = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap());
    let first = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}"#;
    let begun = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    writeln!(asks, "{first}\n{begun}").unwrap();
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    assert!(answer.contains("protocolVersion"), "{answer}");
    // It fails once the server is gone.
    let flood = std::thread::spawn(move || {
        (1..1_000_000).all(|id| {
            writeln!(asks, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).is_ok()
        })
    });
    // A pipe takes 64 KiB, and each answer has some.
    while rustix::io::ioctl_fionread(answers.get_ref()).unwrap() < 40_000 {
        std::thread::yield_now();
    }
    let process = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    server.wait().unwrap();
    assert!(!flood.join().unwrap(), "the server was there until the client had asked everything");
    drop(answers);
}

/// A tool stands for more than its id: what is missing is told at the start, and all of it at once.
#[test]
fn all_that_a_tool_needs_is_named_at_once() {
    let session = Session::new();
    let schema = "input_schema: {type: object}\n";
    let run = format!("description: T.\nexecutor: command\ncommand: ls\n{schema}");
    let send = format!(
        "description: T.\nexecutor: http\nmethod: POST\nurl: https://example.org/\n{schema}"
    );
    session.put(".ai/tools/my/run.yaml", &run);
    session.put(".ai/tools/my/send.yaml", &send);
    let told = session.rye("mcp --allow-unsigned --allow rye.execute.tool.my.*");
    let missing = "warning: 2 tools, such as `my/run`, are allowed and what they stand for is not, so that no client can call them: add \
                   `--allow rye.execute.tool.rye.bash.bash --allow rye.execute.tool.rye.web.fetch --allow \
                   rye.execute.tool.rye.web.send`; `rye.execute.tool.rye.bash.bash` allows every command of the shell, too. To \
                   allow them alone, allow a directive that calls them, with `--allow rye.execute.directive.ID`\n";
    assert!(told.contains(missing), "{told}");
    let all = "--allow rye.execute.tool.my.* --allow rye.execute.tool.rye.bash.bash --allow rye.execute.tool.rye.web.*";
    let told = session.rye(&format!("mcp --allow-unsigned {all} --acknowledge elevated=tests"));
    assert!(!told.contains("stand for"), "{told}");
}
