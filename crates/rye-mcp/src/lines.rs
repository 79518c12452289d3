//! The transport of a client that writes each message on a line.

use std::io;
use std::mem;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty, empty};

use crate::message::{MOST_BYTES, Reading, invalid};

/// The lines of a client, read within the bounds of a message. The library's transport only writes.
pub(crate) struct LineTransport<R, W: AsyncWrite> {
    read: BufReader<R>,
    /// The part of the line that was read. A `receive` that was dropped loses nothing of it.
    line: Vec<u8>,
    /// `true` while the rest of a line that is too long is passed over, because its id is not known before it is read.
    is_too_long: bool,
    write: AsyncRwTransport<RoleServer, Empty, W>,
    /// The error that is being sent. No further message is read before it is.
    refusal: Option<Sending>,
}

type Sending = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(read: R, write: W) -> Self {
        let (read, write) = (BufReader::new(read), AsyncRwTransport::new_server(empty(), write));
        Self { read, line: Vec::new(), is_too_long: false, write, refusal: None }
    }

    /// Reads the next line of at most [`MOST_BYTES`]. Bytes without a line end at the end of the stream are none.
    async fn next_line(&mut self) -> Option<Reading> {
        loop {
            let read = self.read.fill_buf().await.ok().filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let piece = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            self.is_too_long |= MOST_BYTES < self.line.len() + piece.len();
            match self.is_too_long {
                true => self.line = Vec::new(),
                false => self.line.extend_from_slice(piece),
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.read.consume(taken);
            if end.is_some() {
                let line = mem::take(&mut self.line);
                return Some(match mem::take(&mut self.is_too_long) {
                    true => Reading::Refused(Box::new(invalid(b"", "a message may hold 4 MiB"))),
                    false => Reading::of(&line),
                });
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(sending) = &mut self.refusal {
                let sent = sending.await;
                self.refusal = None;
                sent.ok()?;
            }
            match self.next_line().await? {
                Reading::Message(message) => return Some(*message),
                Reading::Nothing => {}
                Reading::Refused(error) => self.refusal = Some(Box::pin(self.write.send(*error))),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.close().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Checks the methods of the messages that are read, and what is answered to the others.
    #[track_caller]
    fn check(text: &str, read: &[&str], answered: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (write, mut client) = tokio::io::duplex(1 << 16);
            let mut transport = LineTransport::new(text.as_bytes(), write);
            let mut methods = Vec::new();
            while let Some(message) = transport.receive().await {
                let message = serde_json::to_value(message).unwrap();
                methods.push(message["method"].as_str().unwrap().to_owned());
            }
            drop(transport);
            let mut written = String::new();
            client.read_to_string(&mut written).await.unwrap();
            assert_eq!(
                (methods, written.as_str()),
                (read.iter().map(|it| (*it).to_owned()).collect(), answered)
            );
        });
    }

    #[test]
    fn lines_are_read_and_refused() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check("", &[], "");
        check(&format!("{ping}\n\r\n{ping}\r\n\u{feff}{ping}\n"), &["ping"; 3], "");
        check(ping, &[], "");
        let error = |code: i32, message: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}\n"
            )
        };
        let no_json = error(-32700, "it is no JSON: expected ident at line 1 column 2");
        check(&format!("no JSON\n{ping}\n"), &["ping"], &no_json);
        let told = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#;
        check(&format!("{told}\n{ping}\n"), &["ping"], "");
        let answer =
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid request"}}"#;
        check(&format!("{{\"id\":7}}\n{ping}\n"), &["ping"], &format!("{answer}\n"));
        let many = format!(r#"{{"id":7,"method":"ping","params":[{}0]}}"#, "0,".repeat(20_000));
        let answer = answer.replace(
            "Invalid request",
            "the message has more than 20000 values; send fewer at a time",
        );
        check(&format!("{many}\n{many}\n{ping}\n"), &["ping"], &format!("{answer}\n{answer}\n"));
        let long = "x".repeat(MOST_BYTES + 1);
        let too_long = error(-32600, "a message may hold 4 MiB");
        check(&format!("{long}\n{ping}\n"), &["ping"], &too_long);
    }
}
