//! A server of this machine that remembers what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// One request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) line: String,
    pub(super) headers: Vec<String>,
    pub(super) body: String,
}

pub(super) struct Server {
    pub(super) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers every request with what `answer` gives for its path.
    pub(super) fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = stream;
                let request = read(&mut stream);
                let path = request.line.split(' ').nth(1).unwrap_or_default().to_owned();
                seen.lock().unwrap().push(request);
                // Who stopped listening is not told the rest.
                let _told = stream.write_all(&answer(&path));
            }
        });
        Self { port, requests }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Method and path of everything that came; a connection alone is an empty line.
    pub(super) fn seen(&self) -> Vec<String> {
        let line = |request: Request| request.line.trim_end_matches(" HTTP/1.1").to_owned();
        self.requests().into_iter().map(line).collect()
    }
}

fn read(stream: &mut TcpStream) -> Request {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines().map(str::to_owned);
            let line = lines.next().unwrap_or_default();
            let headers: Vec<String> = lines.collect();
            let length = headers.iter().find_map(|header| header.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Request { line, headers, body: body.to_owned() };
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => {
                return Request { line: text, headers: Vec::new(), body: String::new() };
            }
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

pub(super) fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub(super) fn ok(content_type: &str, body: &str) -> Vec<u8> {
    answer("200 OK", &[("Content-Type", content_type)], body.as_bytes())
}

pub(super) fn redirect(status: &str, to: &str) -> Vec<u8> {
    answer(status, &[("Location", to), ("Content-Type", "text/plain")], b"elsewhere")
}
