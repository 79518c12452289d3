//! A server on this machine that answers one request after the other, and keeps what it was sent.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// A request as it came.
pub(super) struct Received {
    pub(super) line: String,
    /// By name in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

pub(super) struct Loopback {
    pub(super) address: SocketAddr,
    received: Receiver<Received>,
}

impl Loopback {
    /// Gives these answers in turn, each a status line's end and a body, and the last one for ever.
    pub(super) fn answering(answers: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = channel();
        let answers = answers.to_vec();
        // It ends with the test, which is a process of its own or ends all of them.
        std::thread::spawn(move || {
            for (place, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let (status, body) = answers[place.min(answers.len() - 1)];
                let Some(request) = read(&stream) else { continue };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close");
                let kind = "content-type: application/json\r\nretry-after-ms: 1";
                drop(write!(&stream, "{head}\r\n{kind}\r\n\r\n{body}"));
                drop(sender.send(request));
            }
        });
        Self { address, received }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has come so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.try_iter().collect()
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut lines = (&mut reader).lines().map_while(Result::ok);
    let line = lines.next()?;
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    });
    let headers: BTreeMap<String, String> = headers.collect();
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { line, headers, body })
}
