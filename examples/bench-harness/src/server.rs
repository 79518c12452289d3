//! A server that answers at once: as many calls of `add` as it was told, then a text.

mod answer;
mod http;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use self::answer::{Script, answer};
use self::http::Connection;

/// A server on a loopback port of its own; it ends when it is dropped.
///
/// It keeps nothing of a conversation: which turn it is, is how many results the request holds.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    answered: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Server {
    /// Serves on threads of its own, `turns` calls to each conversation.
    ///
    /// # Errors
    ///
    /// When the system gives no port or no thread.
    pub fn start(turns: u64) -> io::Result<Self> {
        Self::scripted(Script { turns, tool: None })
    }

    /// As [`Server::start`], with calls of another tool: its name on the wire, and its arguments as JSON.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn calling(turns: u64, name: &str, arguments: &str) -> io::Result<Self> {
        Self::scripted(Script { turns, tool: Some((name.to_owned(), arguments.to_owned())) })
    }

    fn scripted(script: Script) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let (address, answered) = (listener.local_addr()?, Arc::new(AtomicU64::new(0)));
        runtime.spawn(accept(listener, Arc::new(script), Arc::clone(&answered)));
        Ok(Self { address, answered, _runtime: runtime })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests it has answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>, answered: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&answered)));
    }
}

/// One connection, for as many requests as come over it; one that breaks is the client's to notice.
async fn serve(stream: TcpStream, script: Arc<Script>, answered: Arc<AtomicU64>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut connection = Connection::new(stream);
    while let Ok(Some(request)) = connection.request().await {
        let answer = answer(&request.path, &request.body, &script);
        answered.fetch_add(1, Ordering::Relaxed);
        if connection.answer(&answer).await.is_err() {
            return;
        }
    }
}
