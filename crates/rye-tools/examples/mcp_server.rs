//! An MCP server with every fault that the tests ask for, by its first argument.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "what a server sees, says and does to itself is what the tests ask for"
)]

use std::error::Error;
use std::io::{BufRead as _, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

#[derive(Default)]
struct Server {
    has_more: AtomicBool,
}

const TOOLS: [&str; 11] = [
    "asks", "change", "dies", "echo", "env", "fails", "long", "many", "monster", "refuses", "slow",
];

fn tool(name: &'static str) -> Tool {
    let schema: Map<String, Value> = Map::from_iter([("type".to_owned(), json!("object"))]);
    Tool::new(name, format!("The tool {name}."), schema)
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

#[expect(deprecated, reason = "what newer revisions left out is what has to be refused")]
async fn asked(context: &RequestContext<RoleServer>) -> Vec<bool> {
    use rmcp::model::{CreateMessageRequestParams, SamplingMessage};

    let peer = &context.peer;
    let sampling = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("Hello")], 10);
    vec![peer.list_roots().await.is_ok(), peer.create_message(sampling).await.is_ok()]
}

/// The variables that it sees, and what it can read of the paths.
fn seen(paths: &[Value]) -> Value {
    let read = |path: &Value| std::fs::read_to_string(path.as_str().unwrap_or_default()).ok();
    let read: Vec<Option<String>> = paths.iter().map(read).collect();
    let names: Map<String, Value> =
        std::env::vars().map(|(name, value)| (name, value.into())).collect();
    json!({ "variables": names, "read": read })
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("faults", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let more = self.has_more.load(Ordering::Relaxed).then_some("more");
        Ok(ListToolsResult::with_all_items(TOOLS.into_iter().chain(more).map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match &*request.name {
            "echo" => CallToolResult::structured(arguments.into()),
            "env" => {
                let paths = arguments.get("paths").and_then(Value::as_array).cloned();
                CallToolResult::structured(seen(&paths.unwrap_or_default()))
            }
            "fails" => CallToolResult::error(vec![ContentBlock::text("there is no such page")]),
            "refuses" => return Err(ErrorData::invalid_params("not like this", None)),
            "long" => text("x".repeat(300 * 1024)),
            "monster" => text("x".repeat(5 * 1024 * 1024)),
            "many" => CallToolResult::structured(json!({ "zeros": vec![0; 200_000] })),
            "asks" => CallToolResult::structured(json!({ "answered": asked(&context).await })),
            "change" => {
                self.has_more.store(true, Ordering::Relaxed);
                drop(context.peer.notify_tool_list_changed().await);
                text("changed")
            }
            "slow" => {
                if let Some(token) = context.meta.get_progress_token() {
                    let half = ProgressNotificationParam::new(token, 1.0)
                        .with_total(2.0)
                        .with_message("half");
                    drop(context.peer.notify_progress(half).await);
                }
                context.ct.cancelled().await;
                drop(std::fs::write("cancelled", "yes"));
                text("nobody reads this")
            }
            "dies" => {
                eprintln!("a mishap");
                std::process::exit(3)
            }
            _ => return Err(ErrorData::invalid_params("no such tool", None)),
        };
        Ok(result.into())
    }
}

/// Reads and never answers.
fn swallow() {
    let mut buffer = [0; 4096];
    while let Ok(1..) = std::io::stdin().read(&mut buffer) {}
}

/// Records each request to end, and keeps running.
async fn stubborn() -> Result<(), Box<dyn Error>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut term = signal(SignalKind::terminate())?;
    Server::default().serve(rmcp::transport::stdio()).await?.waiting().await?;
    std::fs::write("ended-1-input", "")?;
    term.recv().await;
    std::fs::write("ended-2-asked", "")?;
    std::fs::create_dir_all("made/.git/hooks")?;
    std::future::pending().await
}

/// A server without the protocol's library. The second argument says what it does at a first message that it does not know. Its tool
/// writes what it is told, with `$ID` for the id of the call. It records each method.
fn scripted(kind: &str) -> Result<(), Box<dyn Error>> {
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open("methods")?;
    let mut out = std::io::stdout();
    let mut is_begun = false;
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let (id, method) = (&asked["id"], asked["method"].as_str().unwrap_or_default());
        writeln!(log, "{method}")?;
        let result = match (kind, method) {
            ("modern", "server/discover") => json!({ "supportedVersions": ["2026-07-28"] }),
            ("modern", "initialize") => return Ok(()),
            (_, "initialize") => json!({
                "protocolVersion": "2024-11-05",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            }),
            ("exits", _) if !is_begun => return Ok(()),
            ("silent", "server/discover") => continue,
            ("nonsense", "server/discover") => json!([7]),
            ("late", "tools/list") => {
                // The answer to the first message comes when it is not waited for any more.
                writeln!(
                    out,
                    "{}",
                    json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32601, "message": "what?" } })
                )?;
                listed()
            }
            ("late", "server/discover") => continue,
            (_, "tools/list") => listed(),
            (_, "tools/call") => {
                let said = asked["params"]["arguments"]["say"].as_str().unwrap_or_default();
                // Each character is a byte.
                let said = said.replace("$ID", &id.to_string());
                let said: Vec<u8> =
                    said.chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect();
                out.write_all(&said)?;
                out.write_all(b"\n")?;
                out.flush()?;
                continue;
            }
            (_, method) if method.starts_with("notifications/") => continue,
            _ => json!(null),
        };
        is_begun = true;
        writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
        out.flush()?;
    }
    Ok(())
}

/// A list with tools that cannot be used.
fn listed() -> Value {
    let schema = json!({ "type": "object" });
    json!({ "tools": [
        { "name": "say", "inputSchema": schema, "annotations": 7 },
        { "name": "bad", "inputSchema": "object" },
        { "description": "Has no name.", "inputSchema": schema },
        "none",
    ] })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    match std::env::args().nth(1).as_deref() {
        Some("mute") => swallow(),
        Some("garbage") => {
            out.write_all(b"Welcome to this server!\n{]\n\xff\xfe\n\n")?;
            out.flush()?;
            Server::default().serve(rmcp::transport::stdio()).await?.waiting().await?;
        }
        Some("scripted") => scripted(&std::env::args().nth(2).unwrap_or_default())?,
        Some("stubborn") => stubborn().await?,
        Some("flood") => while out.write_all(&[b'x'; 65536]).is_ok() {},
        Some("early") => {
            eprintln!("the configuration is missing");
            std::process::exit(3);
        }
        _ => drop(Server::default().serve(rmcp::transport::stdio()).await?.waiting().await?),
    }
    Ok(())
}
