//! A stream with a limit on the length of its lines.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// The size of the longest message of a server, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024 * 1024;

/// A reader that fails at a line over the limit. The connection then ends. To skip the line would leave a
/// call waiting for its answer.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    inner: R,
    most: usize,
    line: usize,
    is_too_long: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    /// Creates a reader for lines of at most `most` bytes. The flag becomes `true` at a longer one.
    pub(super) fn new(inner: R, most: usize) -> (Self, Arc<AtomicBool>) {
        let is_too_long = Arc::new(AtomicBool::new(false));
        (Self { inner, most, line: 0, is_too_long: Arc::clone(&is_too_long) }, is_too_long)
    }

    /// Counts the bytes. Returns `true` if a line is too long.
    fn count(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line = self.line.saturating_add(piece.len());
            if self.line > self.most {
                return true;
            }
            if piece.ends_with(b"\n") {
                self.line = 0;
            }
        }
        false
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let new = buffer.filled().get(before..).unwrap_or_default();
        if self.count(new) {
            self.is_too_long.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::other("a line is too long")));
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[track_caller]
    fn check(text: &str, is_fine: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut bounded, too_long) = BoundedLines::new(text.as_bytes(), 4);
        let mut read = String::new();
        let result = runtime.block_on(bounded.read_to_string(&mut read));
        assert_eq!(
            (result.is_ok(), too_long.load(Ordering::Relaxed)),
            (is_fine, !is_fine),
            "{text:?}"
        );
    }

    #[test]
    fn a_line_has_to_end() {
        check("", true);
        check("abc\nabc\n\nabcd", true);
        check("abcd\n", false);
        check("abc\nabcde", false);
        check("abcdefgh", false);
    }
}
