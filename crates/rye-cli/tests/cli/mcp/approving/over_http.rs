//! The same over HTTP, where a question and its answer go by ways of their own.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::super::threads::{begun, conversation};
use super::{BY_CLIENT, FIRST, accepted, asking, call, decisions, form, is_the_question, server};
use crate::session::Session;

async fn listening(session: &Session) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = rye::HttpOptions::default();
    tokio::spawn(server(session, BY_CLIENT).serve_http(listener, options, std::future::pending()));
    address
}

/// Reads on until there is an event of which that holds, and gives it.
async fn event(stream: &mut TcpStream, read: &mut String, holds: impl Fn(&Value) -> bool) -> Value {
    loop {
        let data = read.lines().filter_map(|line| line.strip_prefix("data: "));
        let found = data.filter_map(|data| serde_json::from_str(data).ok()).find(&holds);
        if let Some(found) = found {
            return found;
        }
        let mut more = vec![0; 4096];
        let length = stream.read(&mut more).await.unwrap();
        assert!(length > 0, "{read}");
        read.push_str(&String::from_utf8_lossy(&more[..length]));
    }
}

#[tokio::test]
async fn a_question_comes_with_the_answer_to_the_call() {
    let session = asking();
    let address = listening(&session).await;
    let own = conversation(address, form()).await;
    let other = conversation(address, form()).await;
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call() });
    let (mut stream, mut read) = begun(address, Some(&own), &call).await;
    let asked =
        event(&mut stream, &mut read, |event| event["method"] == "elicitation/create").await;
    is_the_question(&asked);
    let mut answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted("deny") });
    // What another conversation answers was asked of somebody else.
    drop(begun(address, Some(&other), &answer).await);
    answer["result"] = accepted("approve");
    drop(begun(address, Some(&own), &answer).await);
    let ended = event(&mut stream, &mut read, |event| event["id"] == 2).await;
    assert_eq!(ended["result"]["structuredContent"]["state"], "completed", "{ended}");
    let made = decisions(&session, FIRST);
    let [[decision, ..]] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!(decision, "approved");
}

/// A request of the era without conversations, by which each stands for itself.
async fn said(address: SocketAddr, id: u64, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": form(),
        "io.modelcontextprotocol/clientInfo": { "name": "lines", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: rye_execute\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let json = answer.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let mut values = json.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.find(|value| value["id"] == id).unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_state_comes_back_by_another_connection() {
    let session = asking();
    let address = listening(&session).await;
    let result = said(address, 1, call()).await["result"].clone();
    is_the_question(&result["inputRequests"]["approval"]);
    let mut again = call();
    again["inputResponses"] = json!({ "approval": accepted("approve") });
    again["requestState"] = result["requestState"].clone();
    let ended = said(address, 2, again.clone()).await;
    assert_eq!(ended["result"]["structuredContent"]["state"], "completed", "{ended}");
    let late = said(address, 3, again).await;
    assert!(late.to_string().contains("was used before"), "{late}");
    assert_eq!(decisions(&session, FIRST).len(), 1);
}
