//! What somebody sees who accepts a server, and who mends what was accepted.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{SERVERS, contains, run, session};
use crate::session::Session;

/// The advice of each refusal leads on.
#[test]
fn a_pin_that_was_edited_is_looked_at_and_written_again() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &[]);
    session.change(".ai/rye.lock", "Reads an item as it is", "Reads no item as it is");
    let advice = "write it again with `rye lock --server own`";
    contains(&run(&session), 3, &[advice]);
    contains(&session.rye("check --locked --allow-unsigned"), 1, &[advice]);
    let left_out =
        "warning: left out of the lock: what server `own` offers does not have the digest";
    let shown = session.rye("mcp discover own --allow-unsigned");
    contains(&shown, 0, &[left_out, "not locked: nothing of it is called"]);
    let locked = session.rye("lock --server own --allow-unsigned");
    contains(&locked, 0, &[left_out, "tool `rye_load` is new", "+description: Reads an item as"]);
    contains(&run(&session), 0, &[]);
    session.change(".ai/rye.lock", "Writes an index of", "Writes no index of");
    let advice = "write it again with `rye lock notes/index`";
    contains(&session.rye("check --locked --trust TRUST --allow-unsigned"), 1, &[advice]);
    let locked = session.rye("lock notes/index --trust TRUST --allow-unsigned");
    contains(&locked, 0, &["1 directive locked"]);
    let checked = session.rye("check --locked --trust TRUST --allow-unsigned");
    assert!(checked.contains("directives locked:") && !checked.contains(advice), "{checked}");
    contains(&run(&session), 0, &[]);
}

/// What somebody else edited in the lock is not forgotten over what is written again.
#[test]
fn a_part_that_was_edited_is_not_dropped_by_who_writes_another() {
    let session = session();
    let path = session.project().join(".ai/rye.lock");
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &[]);
    let refused = |command: &str, advice: &str| {
        let before = std::fs::read(&path).unwrap();
        let shown = session.rye(&format!("{command} --trust TRUST --allow-unsigned"));
        contains(&shown, 1, &[&format!("; write all of them again with {advice}\n")]);
        assert_eq!(std::fs::read(&path).unwrap(), before, "{command}");
    };
    session.change(".ai/rye.lock", "Writes an index of", "Writes no index of");
    refused("lock work", "`rye lock notes/index`");
    refused("lock --server own", "`rye lock notes/index`");
    session.change(".ai/rye.lock", "Reads an item as it is", "Reads no item as it is");
    refused(
        "lock notes/index",
        "`rye lock`, then `rye lock --server own`, and `rye lock` once more",
    );
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &["`rye lock --server own`"]);
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &[]);
    contains(&session.rye("check --locked --trust TRUST --allow-unsigned"), 0, &["as locked"]);
    session.change(".ai/rye.lock", "Reads an item as it is", "Reads no item as it is");
    refused("lock work", "`rye lock --server own`");
}

/// Whoever accepts a server reads what it says, as it says it, and is shown what hides in it.
#[test]
fn what_is_accepted_is_shown_with_its_texts() {
    let session = Session::new();
    let tools = Arc::new(Mutex::new(json!([tool("write", "Writes.\u{1b}[2J\u{202e}ok")])));
    let url = serving(&tools);
    session.put(
        &format!("../home/{SERVERS}"),
        &format!("servers: {{own: {{url: '{url}', private: true}}}}\n"),
    );
    insta::assert_snapshot!(session.rye("mcp discover own --allow-unsigned"));
    insta::assert_snapshot!(session.rye("lock --server own --allow-unsigned"));
    *tools.lock().unwrap() = json!([tool("write", "Writes it."), tool("erase", "Erases it.")]);
    insta::assert_snapshot!(session.rye("lock --server own --allow-unsigned"));
    *tools.lock().unwrap() = json!([]);
    insta::assert_snapshot!(session.rye("mcp discover own --allow-unsigned"));
}

/// A server runs in the project, and what it puts there leads no manifest elsewhere.
#[test]
fn no_manifest_is_written_through_a_link() {
    let rows = [
        (".ai/tools", "the folder `<DIR>/project/.ai/tools` is refused: it is a link"),
        (".ai/tools/mcp", "cannot make `<DIR>/project/.ai/tools/mcp`: it is a link"),
        (".ai/tools/mcp/own", "cannot make `<DIR>/project/.ai/tools/mcp/own`: it is a link"),
    ];
    for (link, expected) in rows {
        let session = Session::new();
        session.put(SERVERS, &super::servers(&session, ""));
        let (there, place) = (session.home().join("there"), session.project().join(link));
        std::fs::create_dir(&there).unwrap();
        drop(std::fs::remove_dir_all(&place));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&there, &place).unwrap();
        let shown = session.rye("mcp discover own --write --allow-unsigned");
        contains(&shown, 1, &[expected]);
        assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0, "{link}");
    }
}

fn tool(name: &str, description: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    json!({ "name": name, "title": "Notes", "description": description, "inputSchema": schema })
}

/// A server of the older revisions that lists these tools, as long as the test runs.
fn serving(tools: &Arc<Mutex<Value>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let tools = Arc::clone(tools);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let asked = read(&mut stream);
            let (status, result) = match asked["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    let own = json!({ "name": "own", "version": "1" });
                    let has = json!({ "tools": {} });
                    let version = "2025-11-25";
                    let begun = json!({ "protocolVersion": version, "capabilities": has, "serverInfo": own });
                    ("200 OK", begun)
                }
                "tools/list" => ("200 OK", json!({ "tools": *tools.lock().unwrap() })),
                "notifications/initialized" => ("202 Accepted", Value::Null),
                _ => ("400 What", Value::Null),
            };
            let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
            let body = if result.is_null() { String::new() } else { answer.to_string() };
            let (kind, length) = ("Content-Type: application/json", body.len());
            let head = format!(
                "HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            drop(stream.write_all([head, body].concat().as_bytes()));
        }
    });
    url
}

fn read(stream: &mut TcpStream) -> Value {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if !head.is_empty() && body.len() >= length.map_or(0, |it| it.parse().unwrap()) {
            return serde_json::from_str(body).unwrap_or_default();
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return Value::Null,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}
