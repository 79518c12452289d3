//! A provider on this machine whose answers follow from the conversation, so that a request that is sent again gets the same one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

/// Numbers that a thread notes, one in each turn.
pub const NUMBERS: usize = 20;

/// Serves on a port of its own until the process ends, and returns the port.
pub fn serve() -> u16 {
    serve_by(|request| (200, completion(request)))
}

/// Does the same with other answers: a status and a body for each request.
pub fn serve_by(answer: fn(&Value) -> (u16, Value)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(serve_stream(stream, answer)));
        }
    });
    port
}

fn serve_stream(stream: TcpStream, answer: fn(&Value) -> (u16, Value)) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body)?;
        let (status, body) = answer(&request);
        let text = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(text.as_bytes())?;
    }
}

fn completion(request: &Value) -> Value {
    let (first, turn) = place(request);
    whole(request, &reply(&first, turn), 20)
}

/// Returns what the model is told before its first answer, and the number of its answers.
pub fn place(request: &Value) -> (String, usize) {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let is_answer = |message: &&Value| message["role"] == "assistant";
    let turn = messages.iter().filter(is_answer).count();
    let opening = messages.iter().take_while(|message| !is_answer(message));
    let told = opening.filter(|message| message["role"] == "user");
    (told.map(|message| message["content"].to_string()).collect(), turn)
}

/// Returns the whole body of an answer of so many tokens with this message.
pub fn whole(request: &Value, message: &Value, tokens: u64) -> Value {
    let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    json!({
        "id": "1", "object": "chat.completion", "created": 0, "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens},
    })
}

/// The answer of one turn. The name in the first message says what the thread does.
fn reply(first: &str, turn: usize) -> Value {
    let name =
        first.split("Count for ").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or("none");
    let above = |words: &str| first.split(words).nth(1).and_then(|rest| rest.split('.').next());
    if let Some(parent) = above("as a child of ") {
        return match turn {
            0 => note(&format!("{parent}-child")),
            1 => start("work/leaf", parent),
            _ => json!({"role": "assistant", "content": "Noted."}),
        };
    }
    if let Some(first) = above("as a grandchild of ") {
        return match turn {
            0 if first.starts_with("beside") => slow(first, 3),
            0 if first.starts_with("long") => slow(first, 100),
            0 => note(&format!("{first}-leaf")),
            _ => json!({"role": "assistant", "content": "Noted."}),
        };
    }
    if name.starts_with("sleeps") {
        return match turn {
            0 => slow(name, 4),
            _ => call("rye_agent_threads_directive_return", json!({"count": turn})),
        };
    }
    if name.starts_with("waits") {
        return match turn {
            0 => call(
                "rye_file_system_write",
                json!({"path": format!("{name}.txt"), "content": "decided\n"}),
            ),
            _ => returns(turn),
        };
    }
    match turn {
        0 if name.starts_with("beside") => {
            let arguments =
                json!({"directive": "work/leaf", "inputs": {"name": name}, "async": true});
            call("rye_agent_threads_thread_directive", arguments)
        }
        0 if name.starts_with("long") => start("work/leaf", name),
        5 if name.starts_with("beside") => note(&format!("{name}-5")),
        5 => start("work/one", name),
        10 if name.starts_with("asks") => call(
            "rye_file_system_write",
            json!({"path": format!("{name}.txt"), "content": "decided\n"}),
        ),
        turn if turn < NUMBERS => note(&format!("{name}-{turn}")),
        _ if name.ends_with("large") => large(returns(turn)),
        _ => returns(turn),
    }
}

fn returns(count: usize) -> Value {
    call("rye_agent_threads_directive_return", json!({"count": count}))
}

fn start(directive: &str, name: &str) -> Value {
    let arguments = json!({"directive": directive, "inputs": {"name": name}});
    call("rye_agent_threads_thread_directive", arguments)
}

/// Notes that a call begins, and after so many seconds that it has ended.
fn slow(name: &str, seconds: u64) -> Value {
    let command = format!(
        "echo {name}-begun >> effects.txt; sleep {seconds}; echo {name}-slow >> effects.txt"
    );
    call("rye_bash_bash", json!({"command": command}))
}

fn note(text: &str) -> Value {
    call("rye_bash_bash", json!({"command": format!("echo {text} >> effects.txt")}))
}

/// Adds a text to a message that makes its records longer than a step of the engine.
fn large(mut message: Value) -> Value {
    message["content"] = "long ".repeat(1 << 20).into();
    message
}

fn call(name: &str, arguments: Value) -> Value {
    calls(&[(name, arguments)])
}

/// Returns a message with calls.
pub fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter().enumerate().map(|(place, (name, arguments))| {
        json!({
            "id": format!("call_{}", place + 1), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()},
        })
    });
    json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
}
