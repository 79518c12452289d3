//! A server of this machine that does with each request what a test says.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// One request as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) line: String,
    headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Seen {
    /// The method of the protocol; empty where there is none.
    pub(super) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub(super) struct Remote {
    pub(super) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Remote {
    /// Answers each request by the script, and closes the connection after it.
    pub(super) fn new(script: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, script) = (Arc::new(Mutex::new(Vec::new())), Arc::new(script));
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (all, script) = (Arc::clone(&all), Arc::clone(&script));
                thread::spawn(move || {
                    let one = read(&mut stream);
                    all.lock().unwrap().push(one.clone());
                    script(&one, &mut stream);
                });
            }
        });
        Self { port, seen }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The methods of the protocol that were called.
    pub(super) fn methods(&self) -> Vec<String> {
        let methods = self.seen().into_iter().map(|seen| seen.method().to_owned());
        methods.filter(|method| !method.is_empty()).collect()
    }

    /// Waits for a request that comes by itself.
    pub(super) async fn until(&self, what: &str, is_it: impl Fn(&Seen) -> bool) {
        let begun = Instant::now();
        while !self.seen().iter().any(&is_it) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", self.seen());
            tokio::task::yield_now().await;
        }
    }
}

fn read(stream: &mut TcpStream) -> Seen {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines().map(str::to_owned);
            let line = lines.next().unwrap_or_default();
            let pair = |header: String| {
                let (name, value) = header.split_once(": ")?;
                Some((name.to_ascii_lowercase(), value.to_owned()))
            };
            let mut seen =
                Seen { line, headers: lines.filter_map(pair).collect(), ..Seen::default() };
            let length = seen.header("content-length").map_or(0, |it| it.parse().unwrap());
            if body.len() >= length {
                seen.body = serde_json::from_str(body).unwrap_or_default();
                return seen;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return Seen::default(),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}
