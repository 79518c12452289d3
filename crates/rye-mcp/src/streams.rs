//! The protocol over two streams of bytes, such as standard input and output.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientNotification, JsonRpcMessage};
use rmcp::service::RunningService;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::error::ServeError;
use crate::lines::LineTransport;
use crate::patience::Patience;

/// The most messages that a client may leave unread before no more of its own are read.
const MOST_UNREAD: usize = 64;

/// The time in which a client has to take the last answers, once the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The messages of a client, of which none is read while too many answers wait for it: they would fill the memory.
struct Paced<T> {
    transport: T,
    unread: Arc<Semaphore>,
    /// `true` once the protocol began. Before that, only requests are handed on: the library ends at another first message.
    has_begun: watch::Receiver<bool>,
    /// The cancellations that came before anybody knew that the protocol had begun: the request of each may have begun it.
    held: VecDeque<RxJsonRpcMessage<RoleServer>>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Paced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let place = Arc::clone(&self.unread).try_acquire_owned();
        let sent = self.transport.send(message);
        async move {
            let sent = sent.await;
            drop(place);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let has_begun = *self.has_begun.borrow();
            if has_begun && let Some(held) = self.held.pop_front() {
                return Some(held);
            }
            drop(self.unread.acquire().await);
            let message = tokio::select! {
                biased;
                Ok(_) = self.has_begun.wait_for(|begun| *begun), if !has_begun => continue,
                message = self.transport.receive() => message?,
            };
            // It may have begun while the message was awaited.
            let has_begun = *self.has_begun.borrow();
            if has_begun || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
            if is_cancellation(&message) && self.held.len() < MOST_UNREAD {
                self.held.push_back(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

fn is_cancellation(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Notification(told) = message else { return false };
    matches!(told.notification, ClientNotification::CancelledNotification(_))
}

/// Serves one client until it closes its end or `stop` comes. Then it waits for `before_end`.
///
/// # Errors
///
/// The function fails if the first message is no beginning of the protocol.
pub async fn serve_streams<R, W>(
    handler: impl ServerHandler,
    read: R,
    write: W,
    stop: impl Future<Output = ()>,
    before_end: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = LineTransport::new(read, Patience::new(write));
    let (begins, has_begun) = watch::channel(false);
    let unread = Arc::new(Semaphore::new(MOST_UNREAD));
    let transport = Paced { transport, unread, has_begun, held: VecDeque::new() };
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = begin(handler, transport) => begun,
        () = &mut stop => return Ok(()),
    };
    let Some(running) = begun? else { return Ok(()) };
    begins.send_replace(true);
    let end = running.cancellation_token();
    let mut waiting = std::pin::pin!(running.waiting());
    tokio::select! {
        _ = &mut waiting => before_end.await,
        () = &mut stop => {
            end.cancel();
            before_end.await;
            // A client that reads nothing keeps the last answers from being written.
            let _unwritten = timeout(LAST_ANSWERS, waiting).await;
        }
    }
    Ok(())
}

/// Begins the conversation. A client that goes before it said anything is no failure.
async fn begin<H: ServerHandler>(
    handler: H,
    transport: impl Transport<RoleServer> + 'static,
) -> Result<Option<RunningService<RoleServer, H>>, ServeError> {
    match rmcp::ServiceExt::serve(handler, transport).await {
        Ok(running) => Ok(Some(running)),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(None),
        Err(error) => Err(ServeError::Begin { message: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rmcp::model::{InitializedNotification, ServerResult};
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A client that speaks on and on and reads nothing.
    #[derive(Default)]
    struct Deaf(AtomicUsize);

    impl Transport<RoleServer> for Deaf {
        type Error = Infallible;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleServer>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::pending()
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let said =
                ClientNotification::InitializedNotification(InitializedNotification::default());
            Some(JsonRpcMessage::notification(said))
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_not_read_either() {
        let unread = Arc::new(Semaphore::new(MOST_UNREAD));
        let (_begins, has_begun) = watch::channel(true);
        let held = VecDeque::new();
        let mut paced = Paced { transport: Deaf::default(), unread, has_begun, held };
        let mut unsent = tokio::task::JoinSet::new();
        let answered = async {
            while paced.receive().await.is_some() {
                let id = rmcp::model::NumberOrString::Number(1);
                let answer = JsonRpcMessage::response(ServerResult::empty(()), id);
                unsent.spawn(paced.send(answer));
                tokio::task::yield_now().await;
            }
        };
        // Nothing else wakes it: it waits for ever from its last answer on.
        assert!(futures_are_stuck(answered).await);
        assert_eq!(paced.transport.0.into_inner(), MOST_UNREAD);
    }

    /// The request that begins the protocol may be cancelled before the server knows that it began.
    #[tokio::test]
    async fn a_cancellation_is_held_until_the_protocol_has_begun() {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
        let told = |method: &str| json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": 7 } });
        let lines = format!(
            "{}\n{request}\n{}\n{request}\n",
            told("notifications/initialized"),
            told("notifications/cancelled")
        );
        let (begins, has_begun) = watch::channel(false);
        let mut paced = Paced {
            transport: LineTransport::new(lines.as_bytes(), tokio::io::sink()),
            unread: Arc::new(Semaphore::new(MOST_UNREAD)),
            has_begun,
            held: VecDeque::new(),
        };
        let mut methods = Vec::new();
        for is_begun in [false, false, true] {
            begins.send_replace(is_begun);
            let message = serde_json::to_value(paced.receive().await.unwrap()).unwrap();
            methods.push(message["method"].as_str().unwrap().to_owned());
        }
        assert_eq!(methods, ["ping", "ping", "notifications/cancelled"]);
        assert!(paced.receive().await.is_none(), "the client has gone");
    }

    /// A server that offers nothing.
    struct Nothing;

    impl ServerHandler for Nothing {}

    /// Whatever comes before it, the handshake is answered, and so is each request after it.
    #[tokio::test]
    async fn no_first_message_ends_the_server() {
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        let begin = |params: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params });
        let own = json!({ "name": "lines", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": own });
        for (first, code) in [
            (told.to_string(), None),
            (answer.to_string(), None),
            ("no JSON".to_owned(), Some(-32700)),
            ("{\"id\":1,\"method\":\"x\",\"params\":\"\\ud83d\"}".to_owned(), Some(-32700)),
            (begin(json!({})).to_string(), Some(-32602)),
        ] {
            let (server, mut client) = tokio::io::duplex(1 << 16);
            let (read, write) = tokio::io::split(server);
            let served = tokio::spawn(serve_streams(
                Nothing,
                read,
                write,
                std::future::pending(),
                std::future::ready(()),
            ));
            let ping = json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" });
            let lines = format!("{first}\n{}\n{told}\n{ping}\n", begin(params.clone()));
            client.write_all(lines.as_bytes()).await.unwrap();
            let mut answers = Vec::new();
            let mut text = String::new();
            while !text.contains("\"id\":8") {
                let mut buffer = [0; 4096];
                let length = client.read(&mut buffer).await.unwrap();
                assert_ne!(length, 0, "{first}: {text}");
                text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
            }
            answers.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            let refused: Vec<_> =
                answers.iter().filter_map(|it| it["error"]["code"].as_i64()).collect();
            assert_eq!(refused, Vec::from_iter(code), "{first}: {text}");
            let begun = answers.iter().find(|it| it["id"] == 7 && it["result"].is_object());
            assert_eq!(begun.unwrap()["result"]["protocolVersion"], "2025-06-18", "{text}");
            drop(client);
            served.await.unwrap().unwrap();
        }
    }

    /// Returns `true` if the future still waits after it was woken far more often than it can have something to do.
    async fn futures_are_stuck(work: impl Future<Output = ()>) -> bool {
        let mut work = std::pin::pin!(work);
        for _ in 0..10 * MOST_UNREAD {
            tokio::select! {
                biased;
                () = &mut work => return false,
                () = tokio::task::yield_now() => {}
            }
        }
        true
    }
}
