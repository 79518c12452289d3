//! The commands of `README.md`, as they are written there: on a folder of one's own, on the example, and with a model.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::guide::{Reader, blocks};
use crate::server::{Answer, Received, Server};
use crate::session::Session;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

/// What stands between this heading and the next.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

#[test]
fn a_project_of_ones_own() {
    let page = page();
    let section = section(&page, "A project of your own");
    assert_eq!(blocks(section, "console").len(), 1);
    // What they print, the guide shows.
    let with_output = |line: &str| match line.strip_prefix("$ ") {
        Some(_) => format!("{line}\n...\n"),
        None => format!("{line}\n"),
    };
    let section: String = section.lines().map(with_output).collect();
    Reader::new().follow(&section).unwrap();
}

/// In the example, where a thread has run.
#[test]
fn what_to_look_at_next() {
    let page = page();
    let rows = section(&page, "What to look at next").lines();
    let commands = rows.filter_map(|row| row.strip_prefix("| `rye ")?.split('`').next());
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 5, "{commands:?}");
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    for command in commands {
        let shown = session.rye(&command.replace(TRUST, "TRUST"));
        assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    }
}

/// Where the trust document is, seen from the example.
const TRUST: &str = "../keys/example-trust.toml";

/// The two lines that run the example with a model, where the vendor is a server on this machine.
#[test]
fn with_a_real_model() {
    let page = page();
    let blocks = blocks(section(&page, "With a real model"), "sh");
    let [commands] = blocks.as_slice() else { panic!("{blocks:?}") };
    let session = Session::new();
    let server = Server::once(vec![answer(&writes()), answer(&returns())], |_| true);
    let vendor = shipped(&session)
        .replace("https://api.anthropic.com", &server.url())
        .replace("protocol:", "stream: false\nprotocol:");
    session.put(".ai/tools/rye/agent/providers/anthropic_messages.yaml", &vendor);
    session.rye("keys generate");
    session.rye("sign .ai/tools");
    let program = Path::new(env!("CARGO_BIN_EXE_rye")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-euc", &commands.replace(TRUST, &session.trust()).replace('…', "sk-test")])
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "path: INDEX.md\ncount: 4\n");
    let bodies: Vec<Value> = server.received().iter().map(Received::json).collect();
    assert_eq!(bodies.len(), 2);
    // The model of the tier that the directive asks for.
    assert!(bodies.iter().all(|body| body["model"] == "claude-haiku-4-5"), "{bodies:?}");
    assert_eq!(fs::read_to_string(session.project().join("INDEX.md")).unwrap(), "# Notes\n");
}

/// The configuration that the program brings along.
fn shipped(session: &Session) -> String {
    let loaded = session.raw("load rye/agent/providers/anthropic_messages");
    String::from_utf8(loaded.stdout).unwrap()
}

fn writes() -> Value {
    let input = json!({ "path": "INDEX.md", "content": "# Notes\n" });
    json!({ "type": "tool_use", "id": "a", "name": "rye_file_system_write", "input": input })
}

fn returns() -> Value {
    let (name, input) =
        ("rye_agent_threads_directive_return", json!({ "path": "INDEX.md", "count": 4 }));
    json!({ "type": "tool_use", "id": "b", "name": name, "input": input })
}

fn answer(call: &Value) -> Answer {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [call],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 900, "output_tokens": 10 },
    });
    Answer::json(200, message)
}
