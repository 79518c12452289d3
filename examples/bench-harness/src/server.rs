//! A server that answers at once: with a fixed number of calls of `add`, then with a text.

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

/// A server on a free loopback port. Dropping this value ends it.
///
/// It keeps no state: the number of results in a request gives the turn.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    answered: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Server {
    /// Starts a server on its own threads, with `turns` calls for each conversation.
    ///
    /// # Errors
    ///
    /// No port or no thread is available.
    pub fn start(turns: u64) -> io::Result<Self> {
        Self::start_with(Script { turns, tool: None })
    }

    /// Starts a server with calls of another tool, given by its name for the model and its arguments as JSON.
    ///
    /// # Errors
    ///
    /// Those of [`Server::start`].
    pub fn calling(turns: u64, name: &str, arguments: &str) -> io::Result<Self> {
        Self::start_with(Script { turns, tool: Some((name.to_owned(), arguments.to_owned())) })
    }

    fn start_with(script: Script) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let address = listener.local_addr()?;
        let answered = Arc::new(AtomicU64::new(0));
        runtime.spawn(accept(listener, Arc::new(script), Arc::clone(&answered)));
        Ok(Self { address, answered, _runtime: runtime })
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of answered requests.
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

/// Serves a connection until it ends. The client notices a broken one.
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
