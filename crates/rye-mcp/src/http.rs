//! The protocol over streamable HTTP, for clients on this machine.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER as RETRY, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rye_sign::Digest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore};

use crate::error::ServeError;
use crate::message::{Head, MOST_BYTES, Reading, too_many_values};
use crate::patience::Patience;

/// The clients that may speak to the server over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The token that every request must carry as `Authorization: Bearer`.
    pub token: Option<String>,
    /// Further origins of web pages that may call it, such as `http://localhost:6274`. A page of any other origin is
    /// refused; clients that are no browsers send no origin.
    pub origins: Vec<String>,
    /// As many conversations with the handshake of the older revisions at a time; a further one is refused with 503.
    pub most_sessions: usize,
    /// A conversation that is silent for so long is ended.
    pub idle: Duration,
    /// A client has so long to send the body of a request.
    pub body_within: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            token: None,
            origins: Vec::new(),
            most_sessions: 64,
            idle: Duration::from_secs(300),
            body_within: Duration::from_secs(30),
        }
    }
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions").field("origins", &self.origins).finish_non_exhaustive()
    }
}

/// As many connections at a time; further ones wait.
const MOST_CONNECTIONS: usize = 128;

/// A client has so long to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// The pause in which the server accepts no connection after one has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The seconds after which a client may try again if all places are taken.
const RETRY_AFTER: &str = "30";

type Service<H> = StreamableHttpService<H, LocalSessionManager>;
type Body = BoxBody<Bytes, Infallible>;

/// Serves clients of this machine at `/mcp` of the listener's address until `stop` comes. Then it waits for
/// `before_end`, and ends the conversations that are left. Each conversation gets a handler of its own from `new_handler`.
///
/// # Errors
///
/// The function fails if the listener's address is not one of this machine alone, or if the system refuses.
pub async fn serve_http<H: ServerHandler>(
    new_handler: impl Fn() -> H + Send + Sync + 'static,
    listener: TcpListener,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
    before_end: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let end = serve_until(new_handler, listener, options, stop).await?;
    before_end.await;
    end();
    Ok(())
}

/// Serves until `stop` comes, and accepts no connection after it. The returned function ends the
/// conversations that are left.
async fn serve_until<H: ServerHandler>(
    made: impl Fn() -> H + Send + Sync + 'static,
    listener: TcpListener,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
) -> Result<impl FnOnce(), ServeError> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let config = config(address, &options);
    let end = config.cancellation_token.clone();
    let door = Arc::new(RequestGuard::new(made, config, options));
    let listener = Arc::new(listener);
    let accept = move || {
        let listener = Arc::clone(&listener);
        async move { listener.accept().await.map(|(stream, _)| stream) }
    };
    tokio::select! {
        () = accepting(accept, |stream| speak(stream, Arc::clone(&door))) => {}
        () = stop => {}
    }
    Ok(move || end.cancel())
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

/// Lets clients in for ever: neither one that is gone before it is greeted nor a system without a free file ends the server.
async fn accepting<F, T>(mut accept: impl FnMut() -> F, serve: impl Fn(TcpStream) -> T)
where
    F: Future<Output = io::Result<TcpStream>>,
    T: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok(stream) = accept().await else {
            // The used-up resource comes back when a client goes. A loop without a pause would keep a
            // processor busy.
            tokio::time::sleep(AFTER_FAILURE).await;
            continue;
        };
        let served = serve(stream);
        tokio::spawn(async move {
            served.await;
            drop(place);
        });
    }
}

/// Speaks with one client until it goes; what goes wrong on the way is its own affair.
async fn speak<H: ServerHandler>(stream: TcpStream, door: Arc<RequestGuard<H>>) {
    // Answers are small and wait for nothing: without this each takes twenty milliseconds.
    drop(stream.set_nodelay(true));
    let answered = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(Patience::new(stream)), answered);
    drop(connection.await);
}

/// The checks before the protocol.
struct RequestGuard<H> {
    /// For clients of the revisions whose streams begin with an empty event that has an id.
    primed: Sessions<H>,
    /// For clients of older revisions, which cannot read that event.
    plain: Sessions<H>,
    token: Option<Digest>,
    options: HttpOptions,
    /// Held while a conversation begins, so that two do not take the last place.
    beginning: Mutex<()>,
}

/// The first revision whose streams begin with an empty event that has an id (SEP-1699).
const PRIMED_SINCE: &str = "2025-11-25";

/// The conversations of one kind of clients.
struct Sessions<H> {
    service: Service<H>,
    sessions: Arc<LocalSessionManager>,
}

impl<H: ServerHandler> Sessions<H> {
    fn new(
        made: &Arc<impl Fn() -> H + Send + Sync + 'static>,
        config: StreamableHttpServerConfig,
        idle: Duration,
    ) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(idle);
        sessions.session_config.sse_retry = config.sse_retry;
        let sessions = Arc::new(sessions);
        let made = Arc::clone(made);
        let service = Service::new(move || Ok(made()), Arc::clone(&sessions), config);
        Self { service, sessions }
    }

    async fn count(&self) -> usize {
        self.sessions.sessions.read().await.len()
    }

    async fn has(&self, session: &str) -> bool {
        self.sessions.sessions.read().await.contains_key(session)
    }
}

impl<H: ServerHandler> RequestGuard<H> {
    fn new(
        made: impl Fn() -> H + Send + Sync + 'static,
        config: StreamableHttpServerConfig,
        options: HttpOptions,
    ) -> Self {
        let made = Arc::new(made);
        let primed = Sessions::new(&made, config.clone(), options.idle);
        let plain = Sessions::new(&made, config.with_sse_retry(None), options.idle);
        let token = options.token.as_deref().map(digest);
        Self { primed, plain, token, options, beginning: Mutex::default() }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != "/mcp" {
            return plain(StatusCode::NOT_FOUND, "the server is at /mcp\n");
        }
        if !self.lets_in(&request) {
            let mut response = plain(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        }
        let (head, body) = request.into_parts();
        let whole = Limited::new(body, MOST_BYTES).collect();
        match tokio::time::timeout(self.options.body_within, whole).await {
            Ok(Ok(body)) => {
                let body = body.to_bytes();
                if let Some(error) = too_many_values(&body) {
                    return refusal_response(StatusCode::PAYLOAD_TOO_LARGE, &error);
                }
                if head.method == Method::POST
                    && let Reading::Refused(error) = Reading::of(&body)
                {
                    return refusal_response(StatusCode::BAD_REQUEST, &error);
                }
                let service = self.service(&head, &body).await;
                let is_end = head.method == Method::DELETE;
                let begins = begins_session(&head, &body);
                let request = Request::from_parts(head, Full::new(body));
                if !begins {
                    let mut response = service.handle(request).await;
                    // Clients of all revisions expect one of the statuses 200 and 204 at the end of a conversation.
                    if is_end && response.status() == StatusCode::ACCEPTED {
                        *response.status_mut() = StatusCode::NO_CONTENT;
                    }
                    return response;
                }
                let _beginning = self.beginning.lock().await;
                if self.is_full().await {
                    return full();
                }
                service.handle(request).await
            }
            Ok(Err(_)) => plain(StatusCode::PAYLOAD_TOO_LARGE, "a request may hold 4 MiB\n"),
            Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the request did not come in time\n"),
        }
    }

    async fn is_full(&self) -> bool {
        self.primed.count().await + self.plain.count().await >= self.options.most_sessions
    }

    /// Returns the service for a request: that of its conversation, or that of the revision which it asks for.
    async fn service(&self, head: &Parts, body: &[u8]) -> &Service<H> {
        let session = head.headers.get("mcp-session-id").and_then(|value| value.to_str().ok());
        let is_plain = match session {
            Some(session) => self.plain.has(session).await,
            None => {
                let revision = Head::of(body).and_then(|head| head.revision());
                let is_primed = |revision: &String| {
                    revision.starts_with(|c: char| c.is_ascii_digit())
                        && revision.as_str() >= PRIMED_SINCE
                };
                revision.is_some_and(|revision| !is_primed(&revision))
            }
        };
        if is_plain { &self.plain.service } else { &self.primed.service }
    }

    /// Compares digests, so that the time of the comparison reveals nothing of the token.
    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let Some(expected) = &self.token else { return true };
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.split_once(' '));
        given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && digest(token.trim()) == *expected
        })
    }
}

/// Returns `true` if the request may be the first of a conversation, for which the server keeps something.
/// The revision that it names does not matter. A request that cannot be read may be one.
fn begins_session(head: &Parts, body: &[u8]) -> bool {
    let opens = Head::of(body).is_none_or(|head| head.method.as_deref() == Some("initialize"));
    head.method == Method::POST && !head.headers.contains_key("mcp-session-id") && opens
}

fn full() -> Response<Body> {
    let text = "as many clients are served as may be; try again later\n";
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(RETRY, HeaderValue::from_static(RETRY_AFTER));
    response
}

/// The answer to a message that is not read.
fn refusal_response(status: StatusCode, error: &ServerJsonRpcMessage) -> Response<Body> {
    let text = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn digest(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listener that fails for a while, as when all files are in use, and then accepts.
    #[tokio::test]
    async fn a_system_that_has_no_place_ends_nothing() {
        let mut failures = 3;
        let (let_in, mut seen) = tokio::sync::mpsc::unbounded_channel();
        let accept = move || {
            failures -= 1;
            let fails = failures >= 0;
            let let_in = let_in.clone();
            async move {
                if fails {
                    return Err(io::Error::from_raw_os_error(24));
                }
                let _nobody_listens_any_more = let_in.send(());
                std::future::pending().await
            }
        };
        tokio::select! {
            () = accepting(accept, |_| std::future::ready(())) => unreachable!("it goes on for ever"),
            asked = seen.recv() => assert_eq!(asked, Some(())),
        }
    }
}
