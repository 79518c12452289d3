//! Answers of a server that speaks the older revision of the protocol, with sessions.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::server::Seen;

/// What it should say to each request.
pub(super) fn polite(seen: &Seen, stream: &mut TcpStream) {
    let id = &seen.body["id"];
    match seen.method() {
        "initialize" => {
            let own = json!({ "name": "far", "version": "1" });
            let version = &seen.body["params"]["protocolVersion"];
            let begun = json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": own });
            json_of(stream, id, &begun, &[("Mcp-Session-Id", "one")]);
        }
        "tools/list" => json_of(stream, id, &json!({ "tools": tools("Echoes.") }), &[]),
        "tools/call" => {
            let arguments = seen.body["params"]["arguments"].clone();
            let result = json!({ "content": [], "structuredContent": arguments });
            json_of(stream, id, &result, &[]);
        }
        method if method.starts_with("notifications/") => accepted(stream),
        _ if seen.line.starts_with("GET") => status(stream, "405 No", "text/plain", ""),
        _ if seen.line.starts_with("DELETE") => status(stream, "200 OK", "text/plain", ""),
        _ => status(stream, "400 What", "text/plain", "what?"),
    }
}

pub(super) fn tools(description: &str) -> Vec<Value> {
    let schema = json!({ "type": "object" });
    vec![json!({ "name": "echo", "description": description, "inputSchema": schema })]
}

pub(super) fn said(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub(super) fn json_of(
    stream: &mut TcpStream,
    id: &Value,
    result: &Value,
    headers: &[(&str, &str)],
) {
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    send(stream, "200 OK", &format!("Content-Type: application/json\r\n{headers}"), &body);
}

pub(super) fn accepted(stream: &mut TcpStream) {
    send(stream, "202 Accepted", "", "");
}

pub(super) fn status(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    send(stream, status, &format!("Content-Type: {kind}\r\n"), body);
}

/// Begins a stream, which ends with the connection.
pub(super) fn stream_of(stream: &mut TcpStream, events: &str) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    // Who stopped listening is not told the rest.
    let _told = stream.write_all([head, events].concat().as_bytes());
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _told = stream.write_all([&head, body].concat().as_bytes());
}
