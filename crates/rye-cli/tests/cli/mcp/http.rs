//! The door before the protocol: who may call the server over HTTP, and how.

use std::net::SocketAddr;
use std::time::Duration;

use rye::HttpOptions;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::granted;
use super::wire::server;
use crate::session::Session;

async fn listening(options: HttpOptions) -> (Session, SocketAddr) {
    let session = Session::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server(&session, granted(&[]));
    tokio::spawn(server.serve_http(listener, options, std::future::pending()));
    (session, address)
}

/// Sends a request and gives all that comes back.
async fn said(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn call() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "lines", "version": "1" },
    });
    let params = json!({ "name": "rye_search", "arguments": { "query": "index" }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

const ACCEPT: &str =
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
const PROTOCOL: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: rye_search\r\n";

#[tokio::test]
async fn who_is_let_in() {
    let mut options = HttpOptions::default();
    options.origins = vec!["http://localhost:6274".to_owned()];
    let (_session, address) = listening(options).await;
    let port = address.port();
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for (name, headers, status) in [
        ("a client", host.clone(), "200"),
        ("a client by name", format!("Host: localhost:{port}\r\n"), "200"),
        ("a name that leads here", "Host: evil.example\r\n".to_owned(), "403"),
        ("the name of another port", "Host: 127.0.0.1:1\r\n".to_owned(), "403"),
        ("a page of its own", format!("{host}Origin: http://127.0.0.1:{port}\r\n"), "200"),
        ("a page that was allowed", format!("{host}Origin: http://localhost:6274\r\n"), "200"),
        ("another page of this machine", format!("{host}Origin: http://localhost:3000\r\n"), "403"),
        ("a page from afar", format!("{host}Origin: https://evil.example\r\n"), "403"),
        ("a page of a file", format!("{host}Origin: null\r\n"), "403"),
    ] {
        let headers = format!("{headers}{ACCEPT}{PROTOCOL}");
        let answer = said(address, "POST", "/mcp", &headers, &call()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{name}: {answer}");
        assert_eq!(answer.contains("notes/index"), status == "200", "{name}: {answer}");
    }
}

#[tokio::test]
async fn what_is_asked_for() {
    let (_session, address) = listening(HttpOptions::default()).await;
    let host = format!("Host: 127.0.0.1:{}\r\n", address.port());
    let long = "x".repeat(5 * 1024 * 1024);
    for (name, method, path, headers, body, status) in [
        ("another path", "POST", "/", format!("{host}{ACCEPT}{PROTOCOL}"), call(), "404"),
        (
            "a method that there is not",
            "PUT",
            "/mcp",
            format!("{host}{ACCEPT}{PROTOCOL}"),
            call(),
            "405",
        ),
        ("no JSON", "POST", "/mcp", format!("{host}{ACCEPT}{PROTOCOL}"), "{".to_owned(), "4"),
        (
            "another tool than the header says",
            "POST",
            "/mcp",
            format!("{host}{ACCEPT}{}", PROTOCOL.replace("rye_search", "rye_load")),
            call(),
            "400",
        ),
        (
            "more than a request may hold",
            "POST",
            "/mcp",
            format!("{host}{ACCEPT}{PROTOCOL}"),
            long,
            "413",
        ),
    ] {
        let answer = said(address, method, path, &headers, &body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{name}: {answer}");
    }
}

/// The values are counted before they are kept, and the error has the id of the request.
#[tokio::test]
async fn a_request_has_a_bound_on_its_values() {
    let (_session, address) = listening(HttpOptions::default()).await;
    let headers = format!("Host: 127.0.0.1:{}\r\n{ACCEPT}{PROTOCOL}", address.port());
    for (values, status) in [(5_000, "200"), (1_000_000, "413")] {
        let list = "{},".repeat(values);
        let body = call().replace("\"index\"", &format!("\"index\",\"more\":[{list}0]"));
        let answer = said(address, "POST", "/mcp", &headers, &body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the message has more than 20000 values; send fewer at a time"}}"#;
        assert_eq!(answer.ends_with(error), status == "413", "{answer}");
    }
}

#[tokio::test]
async fn a_token_is_asked_of_everybody() {
    let mut options = HttpOptions::default();
    options.token = Some("a token of many letters".to_owned());
    let (_session, address) = listening(options).await;
    let host = format!("Host: 127.0.0.1:{}\r\n", address.port());
    for (given, status) in [
        ("", "401"),
        ("Authorization: Bearer another token\r\n", "401"),
        ("Authorization: Basic a token of many letters\r\n", "401"),
        ("Authorization: Bearer a token of many letters\r\n", "200"),
        ("Authorization: bearer a token of many letters\r\n", "200"),
    ] {
        let headers = format!("{host}{given}{ACCEPT}{PROTOCOL}");
        let answer = said(address, "POST", "/mcp", &headers, &call()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{given}: {answer}");
        assert!(!answer.contains("many letters"), "{answer}");
    }
}

#[tokio::test]
async fn nothing_listens_where_other_machines_reach_it() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let server = server(&Session::new(), granted(&[]));
    let options = HttpOptions::default();
    let refused = server.serve_http(listener, options, std::future::pending()).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("is reachable by other machines; listen on 127.0.0.1 or [::1]")
    );
}

/// The handshake of the older revisions begins a conversation, of which something is kept; there are only so many.
#[tokio::test]
async fn one_conversation_too_many_is_told_to_wait() {
    let mut options = HttpOptions::default();
    options.most_sessions = 1;
    let (_session, address) = listening(options).await;
    let host = format!("Host: 127.0.0.1:{}\r\n", address.port());
    let wish = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "lines", "version": "1" } });
    let wish = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": wish });
    let begun = said(address, "POST", "/mcp", &format!("{host}{ACCEPT}"), &wish.to_string()).await;
    assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
    let refused =
        said(address, "POST", "/mcp", &format!("{host}{ACCEPT}"), &wish.to_string()).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: 30"), "{refused}");
    // What else a request says of itself gets nobody a conversation.
    for (more, status) in [
        ("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: initialize\r\n", "503"),
        ("MCP-Protocol-Version: 2025-06-18\r\n", "503"),
        ("Mcp-Method: tools/call\r\nMcp-Name: rye_search\r\n", "503"),
        ("Mcp-Session-Id: made-up\r\n", "404"),
        ("Mcp-Session-Id: \r\n", "404"),
    ] {
        let headers = format!("{host}{ACCEPT}{more}");
        let refused = said(address, "POST", "/mcp", &headers, &wish.to_string()).await;
        assert!(refused.starts_with(&format!("HTTP/1.1 {status}")), "{more}: {refused}");
        assert!(!refused.to_ascii_lowercase().contains("mcp-session-id:"), "{more}: {refused}");
    }
    let alone = said(address, "POST", "/mcp", &format!("{host}{ACCEPT}{PROTOCOL}"), &call()).await;
    assert!(alone.starts_with("HTTP/1.1 200"), "{alone}");
}

/// Returns the id of a conversation of the revision, and the answer that began it.
async fn begin(address: SocketAddr, revision: &str) -> (String, String) {
    let wish = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "lines", "version": "1" } });
    let wish = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": wish });
    let headers = format!("Host: 127.0.0.1:{}\r\n{ACCEPT}", address.port());
    let begun = said(address, "POST", "/mcp", &headers, &wish.to_string()).await;
    let named = begun.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    (named.unwrap_or_else(|| panic!("{begun}")).to_owned(), begun)
}

/// Older clients cannot read an event without a message, and no client expects the end of a conversation to be accepted for later.
#[tokio::test]
async fn each_client_gets_what_its_revision_has() {
    let (_session, address) = listening(HttpOptions::default()).await;
    for (revision, is_primed) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
        ("1.0", false),
    ] {
        let (session, begun) = begin(address, revision).await;
        let port = address.port();
        let headers = format!("Host: 127.0.0.1:{port}\r\n{ACCEPT}Mcp-Session-Id: {session}\r\n");
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
        let listed = said(address, "POST", "/mcp", &headers, &list).await;
        assert!(listed.contains("rye_search"), "{revision}: {listed}");
        for answer in [&begun, &listed] {
            let events = answer.split("\r\n\r\n").nth(1).unwrap();
            let empty = events.lines().filter(|line| line.trim_end() == "data:").count();
            assert_eq!(empty, usize::from(is_primed), "{revision}: {answer}");
        }
        let ended = said(address, "DELETE", "/mcp", &headers, "").await;
        assert!(ended.starts_with("HTTP/1.1 204"), "{revision}: {ended}");
        let gone = said(address, "POST", "/mcp", &headers, &list).await;
        assert!(gone.starts_with("HTTP/1.1 404"), "{revision}: {gone}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_has_an_answer() {
    let (_session, address) = listening(HttpOptions::default()).await;
    let (session, _) = begin(address, "2025-06-18").await;
    let headers = format!("Host: 127.0.0.1:{}\r\n{ACCEPT}", address.port());
    let text = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "rye_search", "arguments": "{}" } });
    let half = text.to_string().replace("rye_search", "\\ud83d");
    let empty = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {} });
    for (body, id, code) in [
        ("no JSON".to_owned(), "", -32700),
        (half, "\"id\":7,", -32700),
        (text.to_string(), "\"id\":7,", -32602),
        (empty.to_string(), "\"id\":7,", -32602),
    ] {
        for more in [String::new(), format!("Mcp-Session-Id: {session}\r\n")] {
            let answer = said(address, "POST", "/mcp", &format!("{headers}{more}"), &body).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{body}: {answer}");
            let error = format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{{\"code\":{code},");
            assert!(answer.contains(&error), "{body}: {answer}");
        }
    }
}

/// A conversation that says nothing makes room for the next one.
#[tokio::test]
async fn a_silent_conversation_is_ended() {
    let mut options = HttpOptions::default();
    (options.most_sessions, options.idle) = (1, Duration::from_millis(1));
    let (_session, address) = listening(options).await;
    let host = format!("Host: 127.0.0.1:{}\r\n", address.port());
    let wish = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "lines", "version": "1" } });
    let wish = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": wish });
    for _ in 0..3 {
        let mut answer = String::new();
        while !answer.starts_with("HTTP/1.1 200") {
            answer =
                said(address, "POST", "/mcp", &format!("{host}{ACCEPT}"), &wish.to_string()).await;
            assert!(
                answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let mut options = HttpOptions::default();
    options.body_within = Duration::from_millis(20);
    let (_session, address) = listening(options).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{ACCEPT}{PROTOCOL}Connection: close\r\nContent-Length: 100\r\n\r\n{{",
        address.port()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}
