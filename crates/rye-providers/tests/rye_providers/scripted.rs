//! A local server that sends exactly what a test says, valid or not.

use std::sync::{Arc, Mutex};

use rye_providers::{ApiKey, ModelPreference, Protocol, ProviderConfig, connect};
use rye_thread::Provider;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::vendor::{KEY, no_randomness};

/// An answer: the status, the content type, more headers, the body, and the end of the connection.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: String,
    pub(crate) end: End,
}

/// The end of an answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    /// As HTTP requires.
    Clean,
    /// The connection closes before the announced length.
    Cut,
    /// The connection stays open, and nothing more is sent.
    Open,
}

pub(crate) fn whole(body: &str) -> Answer {
    let headers = Vec::new();
    let body = body.to_owned();
    Answer { status: 200, content_type: "application/json", headers, body, end: End::Clean }
}

pub(crate) fn streamed(body: &str) -> Answer {
    Answer { content_type: "text/event-stream; charset=utf-8", ..whole(body) }
}

pub(crate) fn refusing(status: u16, body: &str) -> Answer {
    Answer { status, ..whole(body) }
}

/// The server, with the requests that it received.
pub(crate) struct Scripted {
    address: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

/// A request as received.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Scripted {
    /// Sends the answers in turn, each on its own connection, and then repeats the last one.
    pub(crate) async fn answering(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut held = Vec::new();
            for turn in 0.. {
                let Ok((mut stream, _)) = listener.accept().await else { break };
                let request = read(&mut stream).await;
                received.lock().unwrap().push(request);
                let answer = answers.get(turn).or(answers.last()).unwrap();
                write(&mut stream, answer).await;
                if answer.end == End::Open {
                    held.push(stream);
                }
            }
        });
        Self { address, requests }
    }

    pub(crate) fn provider(
        &self,
        protocol: Protocol,
        change: impl FnOnce(&mut Value),
    ) -> Box<dyn Provider> {
        let mut config = json!({
            "name": "vendor",
            "protocol": protocol.as_str(),
            "base_url": self.address,
            "auth": { "env": "VENDOR_KEY" },
            "models": {
                "m": { "context_window": 1000, "max_output": 100, "prices": { "input": "1", "output": "2" } },
                "n": { "context_window": 1000, "max_output": 100, "prices": { "input": "1", "output": "2" } },
            },
            "tiers": { "standard": "m" },
            "retry": { "attempts": 3, "first_delay_ms": 1, "max_delay_ms": 1, "total_seconds": 30 },
        });
        change(&mut config);
        let config = ProviderConfig::from_value(&config).unwrap();
        let wish =
            ModelPreference { id: Some("m"), fallback: Some("n"), ..ModelPreference::default() };
        let choice = config.choose(&wish).unwrap();
        let key: ApiKey = KEY.parse().unwrap();
        connect(&config, &choice, Some(key), no_randomness()).unwrap()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    let end = loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..n]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(n > 0, "the request has no end");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = bytes[end..].to_vec();
    body.resize(length.parse().unwrap(), 0);
    stream.read_exact(&mut body[bytes.len() - end..]).await.unwrap();
    Received { head, body: String::from_utf8(body).unwrap() }
}

async fn write(stream: &mut TcpStream, answer: &Answer) {
    let Answer { status, content_type, headers, body, end } = answer;
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut text = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {content_type}\r\n{headers}connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    if !body.is_empty() {
        text += &format!("{:x}\r\n{body}\r\n", body.len());
    }
    if *end == End::Clean {
        text += "0\r\n\r\n";
    }
    // The client may have closed the connection already.
    let _heard_enough = stream.write_all(text.as_bytes()).await;
    let _heard_enough = stream.flush().await;
}
