//! A thread that is watched from another program while its answer comes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::session::Session;
use crate::streaming::fitting;

pub(crate) const DIRECTIVE: &str = "# Talk\n\n```xml\n<directive name=\"talk\" version=\"1.0.0\">\n  <metadata>\n    \
    <description>Talks.</description>\n    <category>notes</category>\n    <author>rye</author>\n    \
    <limits turns=\"2\" tokens=\"100000\"/>\n  </metadata>\n</directive>\n```\n\n<process>\n  <step name=\"s\">\n    \
    <description>Say hello.</description>\n  </step>\n</process>\n";

/// A model's server on this machine, which says the first half of its answer and then waits for a word.
fn serve(listener: &TcpListener, go_on: &Receiver<()>) {
    let (mut stream, _) = listener.accept().unwrap();
    read_request(&mut stream);
    let event = |choice: &Value, usage: &Value| {
        format!("data: {}\n\n", json!({ "choices": [choice], "usage": usage }))
    };
    let piece = |text: &str| {
        event(
            &json!({ "index": 0, "delta": { "content": text }, "finish_reason": null }),
            &Value::Null,
        )
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{}", piece("One\nTw")).as_bytes()).unwrap();
    stream.flush().unwrap();
    go_on.recv().unwrap();
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3 });
    let end = event(&json!({ "index": 0, "delta": {}, "finish_reason": "stop" }), &usage);
    stream.write_all(format!("{}{end}data: [DONE]\n\n", piece("o.")).as_bytes()).unwrap();
}

fn read_request(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "who watches is another program")]
pub(crate) fn start(session: &Session, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(arguments)
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn an_answer_is_seen_while_it_comes_and_its_record_after_it() {
    let session = Session::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let models =
        "{ m: { context_window: 100000, max_output: 100, prices: { input: 0, output: 0 } } }";
    let provider = format!("protocol: openai_chat\nbase_url: http://{address}\nmodels: {models}\n");
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    session.put(".ai/tools/rye/agent/providers/half.yaml", &provider);
    session.rye("keys generate");
    let signed = session.rye("sign .ai/directives/notes/talk.md .ai/tools");
    assert!(signed.ends_with("exit 0\n"), "{signed}");
    let (go_on, waits) = channel();
    let server = std::thread::spawn(move || serve(&listener, &waits));
    let run = start(&session, &["run", "notes/talk", "--provider", "half", "--json", "--deltas"]);
    while !session.has_record() {
        std::thread::yield_now();
    }
    let mut tail = start(&session, &["threads", "tail", "--json"]);
    let lines = BufReader::new(tail.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut seen = Vec::new();
    for line in lines {
        let line: Value = serde_json::from_str(&line).unwrap();
        if let Some(text) = line["live"].as_str() {
            assert_eq!(text, "One\nTw", "before it is whole");
            go_on.send(()).unwrap();
        }
        let event = line["event"].as_str().unwrap_or("live").to_owned();
        if event != "checkpoint" {
            seen.push(event);
        }
    }
    server.join().unwrap();
    assert!(tail.wait().unwrap().success());
    let place = |event: &str| seen.iter().position(|seen| seen == event);
    assert!(place("live").is_some() && place("live") < place("assistant_text"), "{seen:?}");
    let recorded: Vec<&String> = seen.iter().filter(|event| *event != "live").collect();
    let expected =
        ["thread_start", "context_injected", "user_message", "step_start", "assistant_text"];
    assert_eq!(&recorded[..5], expected, "{seen:?}");
    assert_eq!(seen.last().unwrap(), "thread_complete");
    let report = run.wait_with_output().unwrap();
    let told = fitting(&String::from_utf8(report.stdout).unwrap());
    let pieces: Vec<&str> = told.iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(pieces, ["One\nTw", "o."]);
    let report = &told.last().unwrap()["result"];
    assert_eq!((&report["state"], &report["text"]), (&json!("completed"), &json!("One\nTwo.")));
    let folder = session.project().join(".ai/threads").join(session.thread());
    assert!(!folder.join("live").exists(), "nothing is left of it");
}
