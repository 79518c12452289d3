//! The lines of a server, bounded in bytes before they are read.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

use super::awaited::Awaited;
use super::received::messages;

/// The size of the longest message of a server, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024 * 1024;

/// A reader of the messages in lines, each on a line as [`messages`] gives it. It fails at a message over the limit. The connection then
/// ends. To skip the message would leave a call waiting for its answer.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    inner: BufReader<R>,
    most: usize,
    awaited: Awaited,
    /// The part of a line that was read.
    line: Vec<u8>,
    /// The lines of a message over several lines.
    begun: Begun,
    /// The messages that are handed out.
    whole: io::Cursor<Vec<u8>>,
    is_too_long: Arc<AtomicBool>,
}

impl<R: AsyncRead> BoundedLines<R> {
    /// Creates a reader for messages of at most `most` bytes. The flag becomes `true` at a longer one.
    pub(super) fn new(inner: R, most: usize, awaited: &Awaited) -> (Self, Arc<AtomicBool>) {
        let flag = Arc::new(AtomicBool::new(false));
        let is_too_long = Arc::clone(&flag);
        let (line, begun, whole) = (Vec::new(), Begun::default(), io::Cursor::default());
        let (inner, awaited) = (BufReader::new(inner), awaited.clone());
        (Self { inner, most, awaited, line, begun, whole, is_too_long }, flag)
    }
}

/// The lines of JSON that is written over several lines, so far.
#[derive(Debug, Default)]
struct Begun {
    text: Vec<u8>,
    /// The number of open brackets.
    depth: usize,
}

impl Begun {
    /// Adds a line. Returns the texts that are complete.
    fn push(&mut self, line: Vec<u8>) -> Vec<Vec<u8>> {
        if self.text.is_empty() {
            if !begins_json(&line) {
                return vec![line];
            }
        } else if is_message(&line) && !self.awaits_item() {
            // The lines before it were no beginning of JSON, or it was never ended.
            return vec![mem::take(self).text, line];
        }
        self.depth = depth(&line, self.depth);
        self.text.extend(line);
        match self.depth {
            0 => vec![mem::take(self).text],
            _ => Vec::new(),
        }
    }

    /// Returns `true` if the lines so far are a list whose next item may be a whole message.
    fn awaits_item(&self) -> bool {
        let text = self.text.trim_ascii();
        self.depth == 1 && text.starts_with(b"[") && matches!(text.last(), Some(b'[' | b','))
    }
}

/// Returns `true` if the line is the beginning of JSON that goes on after it. A line that ends after a whole value was cut.
fn begins_json(line: &[u8]) -> bool {
    let json = serde_json::from_slice::<&RawValue>(line);
    let is_opened = matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
    let goes_on = matches!(line.trim_ascii_end().last(), Some(b'{' | b'[' | b',' | b':'));
    is_opened && goes_on && json.is_err_and(|error| error.is_eof())
}

fn is_message(line: &[u8]) -> bool {
    let json = serde_json::from_slice::<&RawValue>(line);
    json.is_ok_and(|json| json.get().starts_with('{') && json.get().contains("\"jsonrpc\""))
}

/// Returns the number of brackets that are open after a line. No string goes on over the end of a line.
fn depth(line: &[u8], before: usize) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (before, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.whole).poll_read(cx, buffer))?;
            if before < buffer.filled().len() {
                return Poll::Ready(Ok(()));
            }
            let read = ready!(Pin::new(&mut this.inner).poll_fill_buf(cx))?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let piece = read.get(..end.map_or(read.len(), |end| end + 1)).unwrap_or_default();
            let (taken, is_end) = (piece.len(), piece.is_empty());
            if this.most < this.begun.text.len() + this.line.len() + taken {
                this.is_too_long.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::Error::other("a line is too long")));
            }
            this.line.extend_from_slice(piece);
            Pin::new(&mut this.inner).consume(taken);
            if is_end && this.line.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if is_end || end.is_some() {
                let line = mem::take(&mut this.line);
                let texts = this.begun.push(line);
                let read = texts.iter().flat_map(|text| messages(text, &this.awaited, None));
                this.whole = io::Cursor::new(read.collect::<String>().into_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientJsonRpcMessage, ClientRequest, PingRequest, RequestId};
    use tokio::io::AsyncReadExt;

    use super::*;

    /// The text that is read, and `true` if a message was too long.
    fn read(text: &str, most: usize) -> (String, bool) {
        let awaited = Awaited::default();
        for id in [3, 4] {
            let ping = ClientRequest::PingRequest(PingRequest::default());
            awaited.note(&ClientJsonRpcMessage::request(ping, RequestId::Number(id)));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut bounded, is_too_long) = BoundedLines::new(text.as_bytes(), most, &awaited);
        let mut read = String::new();
        let result = runtime.block_on(bounded.read_to_string(&mut read));
        assert_eq!(result.is_err(), is_too_long.load(Ordering::Relaxed), "{text:?}");
        (read, result.is_err())
    }

    #[test]
    fn a_message_has_to_end() {
        for (text, is_too_long) in [
            ("", false),
            ("abc\nabc\n\nabcd", false),
            ("abcd\n", true),
            ("abc\nabcde", true),
            ("abcdefgh", true),
            ("{\n\n1", false),
            ("{\n\n12", true),
        ] {
            assert_eq!(read(text, 4), (String::new(), is_too_long), "{text:?}");
        }
    }

    const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":\"}\"}}\n";

    /// Each text has the answer to request 3.
    #[test]
    fn a_message_may_have_several_lines() {
        let pretty = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 3,\n  \"result\": {\"a\":\"}\"}\n}\n"
            .to_owned();
        let begun = "{\"jsonrpc\":\"2.0\",\"id\":4,\n";
        for text in [
            ANSWER.to_owned(),
            pretty.clone(),
            format!("[\n{pretty}]\n"),
            format!("{{\n{ANSWER}"),
            format!("[INFO] it begins {{\n{ANSWER}"),
            format!("{{\"level\":\"info\"}}\n{ANSWER}"),
            format!("[\n  'a {{',\n  'b'\n]\n{ANSWER}"),
            format!("[\n  'loading'\n{ANSWER}"),
            format!("{ANSWER}{begun}"),
        ] {
            assert_eq!(read(&text, MESSAGE).0, ANSWER, "{text:?}");
        }
        let (both, _) = read(&format!("{begun}{ANSWER}"), MESSAGE);
        let (broken, answer) = both.split_once('\n').unwrap();
        assert!(broken.starts_with("{\"jsonrpc\":\"2.0\",\"id\":4,\"error\""), "{broken}");
        assert_eq!(answer, ANSWER);
    }
}
