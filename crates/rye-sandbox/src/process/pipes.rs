//! Pipes of a running program.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

use super::capture::Capture;

/// An output of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a program has these two outputs")]
pub enum StandardStream {
    /// The standard output.
    Output,
    /// The standard error.
    Error,
}

/// Writes the input. A program that does not read it is not an error.
pub(super) async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _closed = stdin.write_all(&input).await;
    }
}

pub(super) async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    captured: &mut Capture,
    stream: StandardStream,
    observer: &(dyn Fn(StandardStream, &str) + Send + Sync),
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    let mut pending = Vec::new();
    while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
        let bytes = buffer.get(..n).unwrap_or_default();
        captured.push(bytes);
        pending.extend_from_slice(bytes);
        let text = whole_characters(&mut pending);
        if !text.is_empty() {
            observer(stream, &text);
        }
    }
    if !pending.is_empty() {
        observer(stream, &String::from_utf8_lossy(&pending));
    }
}

/// Removes and returns the text, except for an incomplete character at its end.
fn whole_characters(pending: &mut Vec<u8>) -> String {
    let end = match std::str::from_utf8(pending) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => pending.len(),
    };
    let bytes: Vec<u8> = pending.drain(..end).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
