//! A connection whose client has to read what it is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The stream of a connection that breaks when the client takes nothing of what is sent for too long.
pub(crate) struct Patience<S> {
    stream: S,
    /// The end of the time in which the client has to take something, while it takes nothing.
    end: Option<Pin<Box<Sleep>>>,
}

/// The time in which a client has to take something.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);

impl<S: AsyncWrite + Unpin> Patience<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, end: None }
    }

    /// Returns what came of a write, or an error once the client took nothing for too long.
    fn while_taken<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(TAKEN_WITHIN)));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.while_taken(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.while_taken(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.while_taken(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.while_taken(closed, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    /// The paused clock advances while all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_loses_its_connection() {
        let (server, client) = duplex(8);
        let error = Patience::new(server).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_slow_keeps_it() {
        let (server, mut client) = duplex(8);
        let taking = async move {
            let mut taken = [0; 8];
            for _ in 0..8 {
                sleep(TAKEN_WITHIN / 2).await;
                client.read_exact(&mut taken).await.unwrap();
            }
        };
        let mut server = Patience::new(server);
        let (sent, ()) = tokio::join!(server.write_all(&[0; 64]), taking);
        sent.unwrap();
    }
}
