//! Pages for a browser on this machine.
//!
//! Other pages in the same browser can reach a server on this machine, too. So a request needs an address of this server in
//! `Host`, no foreign `Origin`, and a path that begins with a random token. Only `GET` is answered, and
//! with [`Deciding`] a `POST` that decides about a waiting call. Such a `POST` needs the own `Origin`, a token of that call, and the
//! cookie of the one browser that may decide.

mod answer;
mod decide;
mod deciding;
mod events;
mod request;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rye_sign::Digest;
use rye_transcript::{PendingApproval, ThreadId};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use self::answer::{Answer, answer, enter, follow, refuse, to_thread};
pub use self::decide::Verdict;
pub use self::deciding::Deciding;
use self::events::Followed;
use self::request::{Guard, Place, Refusal};
use crate::{Listed, Source};

/// The threads that a server shows.
pub trait Threads: Send + Sync + 'static {
    /// The name of the project.
    fn project(&self) -> String;

    /// All threads, the newest first.
    ///
    /// # Errors
    ///
    /// A sentence that the page shows.
    fn list(&self) -> Result<Vec<Listed>, String>;

    /// Reads and verifies one thread, and passes it on.
    ///
    /// # Errors
    ///
    /// A sentence that the page shows, if the thread is not there, cannot be read, or was changed.
    fn thread(&self, thread: &ThreadId, show: &mut dyn FnMut(&Source<'_>)) -> Result<(), String>;

    /// The smallest block of permissions that covers what the thread used, as `rye caps tighten` prints it.
    ///
    /// # Errors
    ///
    /// A sentence that the page shows, if there is nothing to judge by.
    fn tighten(&self, thread: &ThreadId) -> Result<String, String>;

    /// A text that changes when the thread does, without verifying it; `None` if it cannot be had.
    fn pulse(&self, thread: &ThreadId) -> Option<String>;

    /// Is told of each request that had the token in its path, so that the first one can end a wait for a browser.
    fn note_browser(&self) {}
}

/// The way of decisions about calls that wait to the threads.
pub trait Decisions: Send + Sync + 'static {
    /// Records a decision about exactly this call, or has the owner of the thread record it (SPEC 10.11).
    ///
    /// # Errors
    ///
    /// A sentence that the page shows, if the thread does not wait with the call any more, or nothing was recorded.
    fn decide(&self, asked: &PendingApproval, verdict: &Verdict) -> Result<(), String>;
}

/// The address of a server is not one of this machine alone, or the system refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines reach the address.
    #[error("`{address}` is reachable by other machines; use 127.0.0.1 or [::1]")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot listen")]
    Io(#[from] io::Error),
}

/// The most connections at a time. Further ones wait.
const MOST_CONNECTIONS: usize = 64;

/// The time in which a browser has to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted, because what is used up comes back when another one ends.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The values that all connections share.
struct Shared {
    threads: Arc<dyn Threads>,
    deciding: Option<Deciding>,
    guard: Guard,
}

/// Serves the threads below `/TOKEN/` of the listener's address until `stop` is ready.
///
/// Without `deciding`, the pages only show what waits.
///
/// # Errors
///
/// [`ServeError`] if other machines reach the address, or the system has none.
pub async fn serve(
    threads: Arc<dyn Threads>,
    deciding: Option<Deciding>,
    listener: TcpListener,
    token: &str,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let guard = Guard::new(address.port(), Digest::of(token.as_bytes()));
    let shared = Arc::new(Shared { threads, deciding, guard });
    tokio::select! {
        () = accept(listener, shared) => {}
        () = stop => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_FAILURE).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            connection(stream, shared).await;
            drop(place);
        });
    }
}

/// Answers one browser until it closes the connection.
async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let _slower_without = stream.set_nodelay(true);
    let answered = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move {
            let admitted = shared.guard.admit(&request);
            if admitted.is_ok() {
                shared.threads.note_browser();
            }
            let may_decide = shared.may_decide(request.headers());
            let response = match admitted {
                Err(refusal) => refuse(refusal),
                Ok(Place::Events { thread, part, since }) => {
                    follow(shared, Followed { thread, part, may_decide }, since)
                }
                Ok(Place::Decide(thread)) => take_decision(shared, thread, request).await,
                Ok(Place::Enter { code, thread }) => enter(&shared, &code, thread, &request),
                Ok(place) => in_background(move || answer(&shared, &place, may_decide)).await,
            };
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), answered)
        .await;
    // A browser that closes a connection early has not seen an error.
    drop(served);
}

/// Makes an answer where reading and verifying can wait for the disk.
async fn in_background(make: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    tokio::task::spawn_blocking(make).await.unwrap_or_else(|_| refuse(Refusal::Failed))
}

/// Decides about the call that a form names, and leads back to its thread.
async fn take_decision(
    shared: Arc<Shared>,
    thread: ThreadId,
    request: Request<Incoming>,
) -> Answer {
    let may_decide = shared.may_decide(request.headers());
    let Some(form) = decide::form(request.into_body()).await else {
        return refuse(Refusal::Forbidden);
    };
    in_background(move || {
        let project = shared.threads.project();
        to_thread(&thread, decide::decide(&shared, &thread, &form, may_decide), &project)
    })
    .await
}
