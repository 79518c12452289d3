//! A server on this machine that sends exactly what a test says, valid or not, and keeps what it received.

use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// An answer: its bytes, and whether the connection stays open after them.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    stays_open: bool,
}

impl Answer {
    /// These bytes, which need not be HTTP.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), stays_open: false }
    }

    pub(crate) fn new(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        Self::untyped(status, body).with("content-type", content_type)
    }

    /// An answer without a content type.
    pub(crate) fn untyped(status: u16, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        Self::raw([head.as_bytes(), body].concat())
    }

    pub(crate) fn json(status: u16, body: impl Display) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A stream of events, whose length is not announced.
    pub(crate) fn events(events: &str) -> Self {
        let head = "HTTP/1.1 200 x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
        let length = events.len();
        Self::raw(format!("{head}{length:x}\r\n{events}\r\n0\r\n\r\n"))
            .with("content-type", "text/event-stream; charset=utf-8")
    }

    /// An answer that never comes.
    pub(crate) fn never() -> Self {
        Self { stays_open: true, ..Self::raw("") }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let line_end = self.bytes.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
        let header = [name.as_bytes(), b": ", value.as_ref(), b"\r\n"].concat();
        self.bytes.splice(line_end..line_end, header);
        self
    }

    /// Ends the connection five bytes too early. Events are all sent, and their end is not.
    pub(crate) fn cut(mut self) -> Self {
        self.bytes.truncate(self.bytes.len() - 5);
        self
    }

    /// Leaves the connection open, without the last five bytes.
    pub(crate) fn open(self) -> Self {
        Self { stays_open: true, ..self.cut() }
    }
}

/// A request as received. All is empty if the connection ended before it.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The method and the path with its query.
    pub(crate) line: String,
    /// In the order of the request, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    fn read(stream: &TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let mut lines = lines.take_while(|line| !line.is_empty());
        let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        });
        let mut received = Self { line, headers: headers.collect(), body: Vec::new() };
        let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
        // The client may be killed while it sends.
        let _is_whole = reader.take(length).read_to_end(&mut received.body);
        received
    }

    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(other, _)| other == name);
        header.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The server, which runs until the process of the test ends.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Sends what `answer` returns for each request, one after the other, each on its own connection.
    pub(crate) fn new(mut answer: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let request = Received::read(&stream);
                all.lock().unwrap().push(request.clone());
                let answer = answer(&request);
                // The client may have closed the connection already.
                let _heard_enough = stream.write_all(&answer.bytes);
                held.extend(answer.stays_open.then_some(stream));
            }
        });
        Self { port, received }
    }

    /// Sends the answers in turn, and then repeats the last one.
    pub(crate) fn answering(answers: Vec<Answer>) -> Self {
        let last = answers.last().cloned();
        let mut answers = answers.into_iter().chain(last.into_iter().cycle());
        Self::new(move |_| answers.next().unwrap())
    }

    /// Sends each answer once, in turn, to the requests that are expected, and 404 to all others.
    pub(crate) fn once(answers: Vec<Answer>, is_expected: fn(&Received) -> bool) -> Self {
        let mut answers = answers.into_iter();
        Self::new(move |request| {
            let answer = is_expected(request).then(|| answers.next()).flatten();
            answer.unwrap_or_else(|| Answer::untyped(404, ""))
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The lines of all requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.received().into_iter().map(|request| request.line).collect()
    }

    /// What has come so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}
