//! The protocol over streamable HTTP, for clients on this machine.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rye_sign::Digest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::handler::McpServer;

/// Who may speak to the server over HTTP.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HttpOptions {
    /// What every request must carry as `Authorization: Bearer`.
    pub token: Option<String>,
    /// Further origins of web pages that may call it, such as `http://localhost:6274`. A page of any other origin is
    /// refused; clients that are no browsers send no origin.
    pub origins: Vec<String>,
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions").field("origins", &self.origins).finish_non_exhaustive()
    }
}

/// Why the server cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol does.
    #[error("the client does not speak the protocol: {message}")]
    Begin {
        /// What the protocol's library says.
        message: String,
    },
    /// Nobody listens to clients at an address that other machines reach.
    #[error("`{address}` is reachable by other machines; listen on 127.0.0.1 or [::1]")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot listen")]
    Io(#[from] io::Error),
}

/// The longest body of a request.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// As many connections at a time; further ones wait.
const MOST_CONNECTIONS: usize = 128;

/// A client has so long to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

type Service = StreamableHttpService<McpServer, LocalSessionManager>;
type Body = BoxBody<Bytes, Infallible>;

impl McpServer {
    /// Serves clients of this machine at `/mcp` of the listener's address until `stop` comes, and stops their threads then,
    /// so that they can go on.
    ///
    /// # Errors
    ///
    /// When the listener's address is not one of this machine alone, or the system refuses.
    pub async fn serve_http(
        self,
        listener: TcpListener,
        options: HttpOptions,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback { address });
        }
        let config = config(address, &options);
        let end = config.cancellation_token.clone();
        let server = self.clone();
        let sessions = Arc::new(LocalSessionManager::default());
        let service = Service::new(move || Ok(server.clone()), sessions, config);
        let door = Arc::new(Door { service, token: options.token.as_deref().map(digest) });
        tokio::select! {
            refused = accepted(listener, door) => refused?,
            () = stop => {}
        }
        self.stop().await;
        end.cancel();
        Ok(())
    }
}

/// A page in a browser could reach a server on this machine, by its address or by a name that leads to it. Hence the names
/// by which the server may be called, and the origins that may call it, are these alone.
fn config(address: SocketAddr, options: &HttpOptions) -> StreamableHttpServerConfig {
    let port = address.port();
    let names = ["127.0.0.1", "localhost", "[::1]"];
    let own = names.iter().map(|name| format!("http://{name}:{port}"));
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(names.iter().map(|name| format!("{name}:{port}")))
        .with_allowed_origins(own.chain(options.origins.iter().cloned()))
        .enforce_origin_validation()
        .with_max_request_body_bytes(MOST_BYTES)
}

async fn accepted(listener: TcpListener, door: Arc<Door>) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let door = Arc::clone(&door);
        tokio::spawn(async move {
            spoken(stream, door).await;
            drop(place);
        });
    }
}

/// Speaks with one client until it goes; what goes wrong on the way is its own affair.
async fn spoken(stream: TcpStream, door: Arc<Door>) {
    // Answers are small and wait for nothing: without this each takes twenty milliseconds.
    drop(stream.set_nodelay(true));
    let answered = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answered(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), answered);
    drop(connection.await);
}

/// What stands before the protocol.
struct Door {
    service: Service,
    token: Option<Digest>,
}

impl Door {
    async fn answered(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != "/mcp" {
            return plain(StatusCode::NOT_FOUND, "the server is at /mcp\n");
        }
        if !self.lets_in(&request) {
            let mut response = plain(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            let scheme = hyper::header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        }
        self.service.handle(request).await
    }

    /// Digests are compared, so that how long it takes tells nothing of the token.
    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let Some(expected) = &self.token else { return true };
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && digest(token.trim()) == *expected
        })
    }
}

fn digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
