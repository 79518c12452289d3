//! Threads that clients start: waited for, asked about, stopped.

use std::net::SocketAddr;

use rye::{McpServer, ProviderChoice, ServerHost};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::granted;
use super::wire::{Era, Wire, host, server};
use crate::session::Session;

const RUNS: &[&str] = &["rye.execute.directive.notes.*"];

fn fork(id: &str) -> Value {
    let parameters = json!({ "folder": "notes" });
    json!({ "item_type": "directive", "item_id": id, "thread": "fork", "parameters": parameters })
}

#[tokio::test]
async fn a_thread_is_waited_for_and_told_of() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(RUNS)), Era::Inline).await;
    let params = json!({ "name": "rye_execute", "arguments": fork("notes/index"), "_meta": { "progressToken": "p" } });
    let answer = wire.ask("tools/call", params).await["result"].clone();
    assert_eq!(answer["structuredContent"]["state"], "completed", "{answer}");
    assert!(session.project().join("INDEX.md").is_file());
    let told: Vec<f64> = wire
        .notifications
        .iter()
        .map(|it| {
            assert_eq!(
                (&it["method"], &it["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!("p"))
            );
            it["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(told.len() > 3 && told.is_sorted_by(|a, b| a < b), "{told:?}");
    assert!(
        wire.notifications
            .iter()
            .any(|it| it["params"]["message"] == "calls rye/file-system/write")
    );
}

/// A directive as a tool takes its inputs and returns its outputs, with the authority of `rye_execute` and no more.
#[tokio::test]
async fn directives_are_typed_tools() {
    let session = Session::new();
    session.put(".ai/directives/other/mine.md", "# Unsigned\n");
    let typed = |grant: &[&str]| {
        let host = ServerHost { directives_as_tools: true, ..host(&session, granted(grant)) };
        McpServer::new(host)
    };
    let mut wire = Wire::begin(typed(RUNS), Era::Inline).await;
    let listed = wire.ask("tools/list", json!({})).await["result"]["tools"].clone();
    let tools = listed.as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).cloned();
    let index = tool("notes_index").unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(index["inputSchema"]["properties"]["folder"]["type"], "string", "{index}");
    assert_eq!(index["inputSchema"]["additionalProperties"], false, "{index}");
    assert!(tool("rye_execute").is_some() && tool("rye_core_init").is_none(), "{listed}");
    let answer = wire.call("notes_index", json!({ "folder": "notes" })).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let outputs = &answer["structuredContent"];
    let required = index["outputSchema"]["required"].as_array().unwrap();
    assert!(
        !required.is_empty()
            && required.iter().all(|name| !outputs[name.as_str().unwrap()].is_null()),
        "{answer}"
    );
    assert!(outputs["thread"].is_null(), "{answer}");
    for wrong in [json!({ "colour": "red" }), json!({ "folder": { "a": 1 }, "b": 2 })] {
        let answer = wire.call("notes_index", wrong).await;
        assert_eq!(
            (&answer["isError"], &answer["structuredContent"]),
            (&json!(true), &json!(null)),
            "{answer}"
        );
    }
    // Without the grant, and without the option, there is no such tool.
    for server in [typed(&[]), server(&session, granted(RUNS))] {
        let mut wire = Wire::begin(server, Era::Inline).await;
        let params = json!({ "name": "notes_index", "arguments": { "folder": "notes" } });
        let answer = wire.ask("tools/call", params).await;
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("there is no tool"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_host_chooses_the_folder_of_the_records() {
    let session = Session::new();
    let folder = session.home().join("records");
    let host = ServerHost { threads: Some(folder.clone()), ..host(&session, granted(RUNS)) };
    let mut wire = Wire::begin(McpServer::new(host), Era::Inline).await;
    let answer = wire.call("rye_execute", fork("notes/index")).await;
    let thread = answer["structuredContent"]["thread"].as_str().expect("the id of the thread");
    assert!(folder.join(thread).join("transcript.jsonl").is_file(), "{answer}");
    assert!(!session.project().join(".ai/threads").exists());
}

#[tokio::test]
async fn nobody_is_told_who_did_not_ask() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(RUNS)), Era::Initialize).await;
    assert_eq!(wire.call("rye_execute", fork("notes/index")).await["isError"], false);
    assert_eq!(wire.notifications, Vec::<Value>::new());
}

#[tokio::test]
async fn a_thread_that_is_not_waited_for_can_be_asked_about() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(RUNS)), Era::Initialize).await;
    let mut arguments = fork("notes/index");
    arguments["async"] = true.into();
    let begun = wire.call("rye_execute", arguments).await["structuredContent"].clone();
    let thread = begun["thread"].clone();
    let status = json!({ "thread": thread, "wait_seconds": 50 });
    let ended = wire.call("rye_thread_status", status.clone()).await["structuredContent"].clone();
    assert_eq!((&ended["thread"], &ended["state"]), (&thread, &json!("completed")), "{ended}");
    assert_eq!(wire.call("rye_thread_status", status).await["structuredContent"], ended);
    let other = json!({ "thread": "index-019a0000-0000-7000-8000-00000000ffff" });
    let unknown = wire.call("rye_thread_status", other).await;
    assert!(unknown.to_string().contains("there is no thread"), "{unknown}");
}

#[tokio::test]
async fn a_thread_that_cannot_begin_is_told_with_its_id() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(RUNS)), Era::Initialize).await;
    let failed = wire.call("rye_execute", fork("notes/nothing")).await;
    assert_eq!(
        (&failed["isError"], &failed["structuredContent"]["state"]),
        (&json!(true), &json!("error")),
        "{failed}"
    );
    assert!(failed.to_string().contains("cannot run"), "{failed}");
}

/// A session with a directive whose provider never answers.
async fn waiting() -> (Session, tokio::net::TcpListener) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let session = Session::new();
    let provider = format!(
        "protocol: openai_chat\nbase_url: http://127.0.0.1:{port}\ntiers: {{ general: m }}\nmodels:\n  m: {{ context_window: \
         100000, max_output: 1000, prices: {{ input: 0, output: 0 }} }}\n"
    );
    session.put(".ai/tools/rye/agent/providers/silent.yaml", &provider);
    session.put(
        ".ai/directives/notes/waits.md",
        "# Waits\n\n```xml\n<directive name=\"waits\" version=\"1.0.0\">\n  <metadata>\n    <description>Waits.</description>\n    \
         <category>notes</category>\n    <author>rye</author>\n    <model provider=\"silent\" tier=\"general\"/>\n    <limits spend=\"unlimited\"/>\n    \
         <permissions></permissions>\n  </metadata>\n</directive>\n```\n\nWait.\n",
    );
    // The examples' key may not say who answers.
    session.rye("keys generate --owner me");
    for path in [".ai/tools/rye/agent/providers/silent.yaml", ".ai/directives/notes/waits.md"] {
        let signed = session.rye(&format!("sign {path}"));
        assert!(signed.ends_with("exit 0\n"), "{signed}");
    }
    (session, listener)
}

fn patient(session: &Session) -> rye::McpServer {
    let mut host = host(session, granted(RUNS));
    host.provider = ProviderChoice::Directive;
    rye::McpServer::new(host)
}

fn started() -> Value {
    json!({ "item_type": "directive", "item_id": "notes/waits", "thread": "fork", "async": true })
}

#[tokio::test]
async fn a_call_that_is_cancelled_leaves_a_thread_that_can_go_on() {
    let (session, listener) = waiting().await;
    for era in [Era::Initialize, Era::Inline] {
        drop(std::fs::remove_dir_all(session.project().join(".ai/threads")));
        let mut wire = Wire::begin(patient(&session), era).await;
        let arguments =
            json!({ "item_type": "directive", "item_id": "notes/waits", "thread": "fork" });
        let id = wire
            .begin_to_ask("tools/call", json!({ "name": "rye_execute", "arguments": arguments }))
            .await;
        // The request is under way once the provider is called.
        let (_connection, _) = listener.accept().await.unwrap();
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })).await;
        let thread =
            json!({ "thread": "waits-019a0000-0000-7000-8000-000000000000", "wait_seconds": 50 });
        let status = wire.call("rye_thread_status", thread).await;
        assert_eq!(status["structuredContent"]["state"], "stopped", "{era:?}: {status}");
        assert!(wire.notifications.is_empty(), "{:?}", wire.notifications);
        let shown = session.rye("threads list --json");
        assert!(shown.contains("\"running\""), "{era:?}: {shown}");
    }
}

#[tokio::test]
async fn a_thread_is_ended_for_good() {
    let (session, listener) = waiting().await;
    let mut wire = Wire::begin(patient(&session), Era::Inline).await;
    let begun = wire.call("rye_execute", started()).await["structuredContent"].clone();
    assert_eq!(begun["state"], "running");
    let (_connection, _) = listener.accept().await.unwrap();
    let ended = wire.call("rye_thread_cancel", json!({ "thread": begun["thread"] })).await;
    assert_eq!(ended["structuredContent"]["state"], "cancelled", "{ended}");
}

/// Whoever waits for a thread hears how it ended, whoever ended it.
#[tokio::test]
async fn a_thread_that_another_program_ended_is_told_as_that() {
    let (session, listener) = waiting().await;
    let mut wire = Wire::begin(patient(&session), Era::Inline).await;
    let begun = wire.call("rye_execute", started()).await["structuredContent"].clone();
    let (connection, _) = listener.accept().await.unwrap();
    let cancelled = session.rye("cancel THREAD");
    assert!(cancelled.ends_with("exit 0\n"), "{cancelled}");
    // It writes down that nobody answers, which it may not any more.
    drop((connection, listener));
    let status = json!({ "thread": begun["thread"], "wait_seconds": 50 });
    let ended = wire.call("rye_thread_status", status).await["structuredContent"].clone();
    assert_eq!(
        (&ended["state"], &ended["failure"]),
        (&json!("cancelled"), &json!(null)),
        "{ended}"
    );
    let told = ended["warnings"].to_string();
    assert!(told.contains("was cancelled by another program"), "{ended}");
}

#[tokio::test]
async fn a_server_that_stops_leaves_threads_that_can_go_on() {
    let (session, listener) = waiting().await;
    let mut wire = Wire::begin(patient(&session), Era::Inline).await;
    wire.call("rye_execute", started()).await;
    let (_connection, _) = listener.accept().await.unwrap();
    wire.stop().await;
    let shown = session.rye("threads list --json");
    assert!(shown.contains("\"running\""), "{shown}");
}

/// The call that is one too many is refused at once, while the others wait.
#[tokio::test]
async fn a_conversation_has_only_so_many_calls_at_a_time() {
    let (session, listener) = waiting().await;
    let mut wire = Wire::begin(patient(&session), Era::Initialize).await;
    let begun = wire.call("rye_execute", started()).await["structuredContent"].clone();
    let (_connection, _) = listener.accept().await.unwrap();
    let arguments = json!({ "thread": begun["thread"], "wait_seconds": 50 });
    let call = json!({ "name": "rye_thread_status", "arguments": arguments });
    for _ in 0..33 {
        wire.begin_to_ask("tools/call", call.clone()).await;
    }
    let refused = wire.next().await["result"].clone();
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("32 calls are under way already"), "{text}");
    // Prompts are read from the same files.
    for (method, params) in
        [("prompts/list", json!({})), ("prompts/get", json!({ "name": "notes/index" }))]
    {
        let refused = wire.ask(method, params).await;
        let text = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(text.contains("32 calls are under way already"), "{method}: {refused}");
    }
    wire.stop().await;
}

/// A request of a conversation of the older revisions over HTTP, whose answer is not waited for to its end.
pub(super) async fn begun(
    address: SocketAddr,
    session: Option<&str>,
    body: &Value,
) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = vec![0; 4096];
    let length = stream.read(&mut head).await.unwrap();
    (stream, String::from_utf8_lossy(&head[..length]).into_owned())
}

pub(super) async fn conversation(address: SocketAddr, capabilities: Value) -> String {
    let own = json!({ "name": "lines", "version": "1" });
    let wish =
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": own });
    let wish = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": wish });
    let (_, head) = begun(address, None, &wish).await;
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    begun(address, Some(id), &told).await;
    id.to_owned()
}

/// However many conversations there are, their calls are bounded together, those of clients that went away among them.
#[tokio::test]
async fn all_conversations_together_have_only_so_many_calls() {
    let (session, listener) = waiting().await;
    let server = patient(&session);
    let doors = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = doors.local_addr().unwrap();
    let options = rye::HttpOptions::default();
    tokio::spawn(server.serve_http(doors, options, std::future::pending()));
    let call = |id: u64, name: &str, arguments: &Value| {
        let params = json!({ "name": name, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let first = conversation(address, json!({})).await;
    drop(begun(address, Some(&first), &call(2, "rye_execute", &started())).await);
    let (_connection, _) = listener.accept().await.unwrap();
    let asked =
        json!({ "thread": "waits-019a0000-0000-7000-8000-000000000000", "wait_seconds": 50 });
    let mut open = Vec::new();
    for nth in 0..4 {
        let session = if nth == 0 { first.clone() } else { conversation(address, json!({})).await };
        for id in 10..42 {
            let body = call(id, "rye_thread_status", &asked);
            open.push(begun(address, Some(&session), &body).await);
            // The places of connections are as many, and are not what this is about.
            if open.len() > 100 {
                open.remove(0);
            }
        }
    }
    let other = conversation(address, json!({})).await;
    let (mut stream, mut answer) =
        begun(address, Some(&other), &call(10, "rye_thread_status", &asked)).await;
    while !answer.contains("isError") {
        let mut more = vec![0; 4096];
        let length = stream.read(&mut more).await.unwrap();
        assert!(length > 0, "{answer}");
        answer.push_str(&String::from_utf8_lossy(&more[..length]));
    }
    assert!(answer.contains("128 calls are under way already"), "{answer}");
}

/// The program, told to end as a machine tells it that goes down.
#[cfg(unix)]
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "what is told to end has to be a program, and the standard library sends no signals"
)]
async fn a_program_that_is_told_to_end_leaves_threads_that_can_go_on() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let (session, listener) = waiting().await;
    let mut child = Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(["mcp", "--allow", "rye.execute.directive.notes.*", "--trust", &session.trust()])
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "lines", "version": "1" },
    });
    let params = json!({ "name": "rye_execute", "arguments": started(), "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    // It goes on being open, so that it is not its end that ends the server.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{call}\n").as_bytes()).unwrap();
    let (_connection, _) = listener.accept().await.unwrap();
    let line = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let listed = session.rye("threads list");
    assert!(listed.contains("stopped"), "{listed}");
    let verified = session.rye("threads verify");
    assert!(verified.starts_with("$ rye threads verify\nok "), "{verified}");
}
