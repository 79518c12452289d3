//! Calls that wait for approval in threads of clients, and who decides on them.

mod again;
mod below;
mod carried;
mod ended;
mod over_http;
mod requested;
mod status;

use std::time::Duration;

use rye::{Approvals, McpServer};
use serde_json::{Value, json};

use super::granted;
use super::wire::host;
use crate::session::Session;

/// A project whose directive waits before it writes.
fn asking() -> Session {
    let session = Session::new();
    session.asks_before_it_writes();
    session
}

/// One whose directive waits before it writes, and before it reads what it wrote.
fn asking_twice() -> Session {
    let session = Session::new();
    let ask =
        "ask: [rye.execute.tool.rye.file-system.write, rye.execute.tool.rye.file-system.read]\n";
    session.put(".ai/config/agent/approval.yaml", ask);
    session.rye("sign .ai/config/agent/approval.yaml --key KEY");
    session
}

const BY_CLIENT: Approvals = Approvals::Clients { within: Duration::from_secs(60) };

fn server(session: &Session, approvals: Approvals) -> McpServer {
    let mut host = host(session, granted(&["rye.execute.directive.notes.*"]));
    host.approvals = approvals;
    McpServer::new(host)
}

fn arguments() -> Value {
    let parameters = json!({ "folder": "notes" });
    json!({ "item_type": "directive", "item_id": "notes/index", "thread": "fork", "parameters": parameters })
}

fn call() -> Value {
    json!({ "name": "rye_execute", "arguments": arguments() })
}

fn form() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn accepted(decision: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision } })
}

const FIRST: &str = "index-019a0000-0000-7000-8000-000000000000";

/// What the thread's record says of decisions: the word, by whom, and the hash of the arguments.
fn decisions(session: &Session, thread: &str) -> Vec<[String; 3]> {
    let path = session.project().join(".ai/threads").join(thread).join("transcript.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let decided = records.filter(|record| record["event"] == "approval_decided");
    decided
        .map(|it| {
            ["decision", "by", "arguments_sha256"]
                .map(|name| it["payload"][name].as_str().unwrap().to_owned())
        })
        .collect()
}

/// The question is whole: who asks for what, with which arguments, and the hash that a decision is recorded with.
#[track_caller]
fn is_the_question(request: &Value) {
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let params = &request["params"];
    assert_eq!(params["mode"], "form", "{request}");
    let message = params["message"].as_str().unwrap();
    let parts = ["`rye/file-system/write`", FIRST, "`notes/index`", "\"path\": \"INDEX.md\""];
    for part in parts {
        assert!(message.contains(part), "{part} in {message}");
    }
    let schema = &params["requestedSchema"];
    assert_eq!(schema["type"], "object", "{request}");
    assert_eq!(schema["required"], json!(["decision"]), "{request}");
    let decision = &schema["properties"]["decision"];
    assert_eq!(decision["enum"], json!(["approve", "deny"]), "{request}");
    assert_eq!(decision.get("default"), None, "{request}");
}

/// Nobody decided: the thread waits, and the result says so, and what the operator can do.
#[track_caller]
fn waits(session: &Session, result: &Value, why: &str) {
    let told = &result["structuredContent"];
    assert_eq!((&told["state"], &told["thread"]), (&json!("suspended"), &json!(FIRST)), "{result}");
    assert_eq!(told["waits_for"]["item_id"], "rye/file-system/write", "{result}");
    let commands = format!(
        "{why}; the operator decides with `rye approve {FIRST} --call 20` or `rye deny {FIRST} --call 20`, then `rye resume {FIRST}` goes on"
    );
    assert_eq!(told["undecided"], commands, "{result}");
    assert_eq!(decisions(session, FIRST), Vec::<[String; 3]>::new());
    assert!(!session.project().join("INDEX.md").exists());
}
