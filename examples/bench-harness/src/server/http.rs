//! The part of HTTP/1.1 that a model's client uses: requests with a length over persistent connections.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request.
pub(super) struct Request {
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// A response.
pub(super) enum Answer {
    /// A JSON text with its status.
    Whole(u16, String),
    /// Events, each of which is sent as a separate chunk.
    Events(Vec<String>),
}

/// A connection, and the bytes received after the last request.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::with_capacity(16 * 1024) }
    }

    /// Reads the next request; `None` once the client has closed the connection.
    pub(super) async fn request(&mut self) -> io::Result<Option<Request>> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.more().await? == 0 {
                return Ok(None);
            }
        };
        let text =
            String::from_utf8_lossy(self.buffer.get(..head).unwrap_or_default()).into_owned();
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        let length = length(&text).ok_or_else(|| io::Error::other("a request without a length"))?;
        while self.buffer.len() < head + length {
            if self.more().await? == 0 {
                return Ok(None);
            }
        }
        let body = self.buffer.drain(..head + length).skip(head).collect();
        Ok(Some(Request { path, body }))
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Writes the whole answer at once.
    pub(super) async fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        let bytes = match answer {
            Answer::Whole(status, text) => {
                let length = text.len();
                format!(
                    "HTTP/1.1 {status} .\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
                )
            }
            Answer::Events(events) => {
                let chunks: String = events
                    .iter()
                    .map(|event| format!("{:x}\r\n{event}\r\n", event.len()))
                    .collect();
                format!(
                    "HTTP/1.1 200 .\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
                )
            }
        };
        self.stream.write_all(bytes.as_bytes()).await
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn length(head: &str) -> Option<usize> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    value.trim().parse().ok()
}
