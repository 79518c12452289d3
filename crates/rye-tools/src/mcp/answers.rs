//! A transport that limits the number of unread answers, of messages that wait for nothing, and the wait for the first answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::awaited::Awaited;
use super::received::no_revisions;

/// The number of requests of a server whose answers may be unread. At this number, the client reads no
/// further messages.
const OPEN: usize = 64;

/// The number of messages that a server may send for one request of the client. The protocol's library keeps
/// them in memory until they are handled.
const FOR_ONE_REQUEST: usize = 10_000;

/// A transport that stops reading from a server while too many answers to it are unread.
///
/// A server that sends requests without reading the answers is then blocked by its own pipe, and a pending
/// call of the client ends with a timeout. Every request is answered at once, so that its cancellation has no
/// effect. Such notifications are not passed on, so that each request has exactly one answer. Neither are
/// notifications that the client does not use, such as log messages. The connection ends at too many others.
///
/// A server that says nothing to `server/discover` is taken for one that does not know it. Each request gets one answer; a later one is
/// not passed on.
#[derive(Debug)]
pub(super) struct LimitedTransport<T> {
    inner: T,
    open: Arc<Open>,
    awaited: Awaited,
    /// The time for an answer to `server/discover`; `None` if the inner transport limits it.
    patience: Option<Duration>,
    /// The end of that time, once the request was sent.
    silent_at: Option<Instant>,
    /// The messages since the last request of the client.
    received: usize,
    floods: Arc<AtomicBool>,
}

/// The requests of the server whose answers are unread.
#[derive(Debug, Default)]
struct Open {
    ids: Mutex<Vec<RequestId>>,
    fewer: Notify,
}

impl<T> LimitedTransport<T> {
    /// Creates a transport. The flag becomes `true` if the server sends too many messages.
    pub(super) fn new(
        inner: T,
        awaited: &Awaited,
        patience: Option<Duration>,
    ) -> (Self, Arc<AtomicBool>) {
        let floods = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&floods);
        let (open, awaited) = (Arc::default(), awaited.clone());
        (Self { inner, open, awaited, patience, silent_at: None, received: 0, floods }, flag)
    }

    /// Counts a message. Returns `true` if there are too many.
    fn count(&mut self) -> bool {
        self.received += 1;
        let is_flood = self.received > FOR_ONE_REQUEST;
        self.floods.fetch_or(is_flood, Ordering::Relaxed);
        is_flood
    }
}

impl Open {
    async fn room(&self) {
        loop {
            let fewer = self.fewer.notified();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).len() < OPEN {
                return;
            }
            fewer.await;
        }
    }

    /// Records an open request. Returns `false` if another open request has the same id.
    fn begin(&self, id: &RequestId) -> bool {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !ids.contains(id);
        ids.push(id.clone());
        is_new
    }

    fn end(&self, id: &RequestId) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.retain(|open| open != id);
        self.fewer.notify_one();
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LimitedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if matches!(message, JsonRpcMessage::Request(_)) {
            self.received = 0;
        }
        self.awaited.note(&message);
        if self.silent_at.is_none() && self.awaited.revisions().is_some() {
            self.silent_at = self.patience.map(|patience| Instant::now() + patience);
        }
        let sending = self.inner.send(message);
        let open = Arc::clone(&self.open);
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                open.end(&id);
            }
            sent
        }
    }

    /// Returns the next message. Ends the connection if a request has the id of an open one, or if there are
    /// too many messages.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.open.room().await;
            let silent_at = self.silent_at.filter(|_| self.awaited.revisions().is_some());
            let message = tokio::select! {
                message = self.inner.receive() => message?,
                () = sleep_until(silent_at.unwrap_or_else(Instant::now)), if silent_at.is_some() => {
                    no_revisions(&self.awaited.revisions()?)
                }
            };
            match &message {
                JsonRpcMessage::Response(response) if !self.awaited.end(&response.id) => {}
                JsonRpcMessage::Error(error)
                    if !error.id.as_ref().is_some_and(|id| self.awaited.end(id)) => {}
                JsonRpcMessage::Request(request) if !self.open.begin(&request.id) => return None,
                JsonRpcMessage::Notification(told) if !is_used(&told.notification) => {}
                _ if self.count() => return None,
                _ => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

const fn is_used(told: &ServerNotification) -> bool {
    matches!(
        told,
        ServerNotification::ProgressNotification(_)
            | ServerNotification::ToolListChangedNotification(_)
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::*;

    /// A server that sends requests without end, and reads as many answers as there are permits.
    struct Asks {
        next: u64,
        taken: Arc<Semaphore>,
        line: fn(u64) -> serde_json::Value,
    }

    impl Transport<RoleClient> for Asks {
        type Error = Infallible;

        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            let taken = Arc::clone(&self.taken);
            async move {
                taken.acquire().await.unwrap().forget();
                Ok(())
            }
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.next += 1;
            match (self.line)(self.next) {
                serde_json::Value::Null => std::future::pending().await,
                line => Some(serde_json::from_value(line).unwrap()),
            }
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn limited<T>(inner: T) -> LimitedTransport<T> {
        LimitedTransport::new(inner, &Awaited::default(), None).0
    }

    fn asks(line: fn(u64) -> serde_json::Value) -> (LimitedTransport<Asks>, Arc<Semaphore>) {
        let taken = Arc::new(Semaphore::new(0));
        (limited(Asks { next: 0, taken: Arc::clone(&taken), line }), taken)
    }

    fn ping(id: u64) -> serde_json::Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    /// Reads and answers until no message is left. Returns the number of messages, and `true` if the
    /// connection has ended.
    async fn read(transport: &mut LimitedTransport<Asks>) -> (usize, bool) {
        let mut read = 0;
        loop {
            let message = tokio::select! {
                biased;
                message = transport.receive() => message,
                () = tokio::task::yield_now() => return (read, false),
            };
            let Some(message) = message else { return (read, true) };
            read += 1;
            assert!(read < 10_000, "it is read on and on");
            if let JsonRpcMessage::Request(request) = message {
                let answer = json!({ "jsonrpc": "2.0", "id": request.id, "result": {} });
                tokio::spawn(transport.send(serde_json::from_value(answer).unwrap()));
            }
        }
    }

    /// The paused clock advances while all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_about_its_revisions_has_none() {
        let awaited = Awaited::default();
        let silent = Asks { next: 0, taken: Arc::new(Semaphore::new(1)), line: |_| json!(null) };
        let patience = Duration::from_secs(10);
        let (mut transport, _) = LimitedTransport::new(silent, &awaited, Some(patience));
        let begun = Instant::now();
        let asked = json!({ "jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {} });
        drop(transport.send(serde_json::from_value(asked).unwrap()));
        let message = transport.receive().await.unwrap();
        let expected = no_revisions(&RequestId::Number(7));
        assert_eq!((json!(message), begun.elapsed()), (json!(expected), patience));
        // Nothing else has such a limit, and a late answer is not passed on.
        let more = tokio::time::timeout(10 * patience, transport.receive()).await;
        assert!(more.is_err());
    }

    #[tokio::test]
    async fn a_server_that_takes_no_answers_is_not_read_on() {
        let (mut transport, taken) = asks(ping);
        assert_eq!(read(&mut transport).await, (OPEN, false));
        taken.add_permits(3);
        while taken.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(read(&mut transport).await, (3, false));
    }

    #[tokio::test]
    async fn what_is_no_request_is_read_meanwhile() {
        let (mut transport, _) = asks(|_| {
            let params = json!({ "progressToken": 1, "progress": 1 });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
        });
        for _ in 0..3 * OPEN {
            assert!(transport.receive().await.is_some());
        }
    }

    /// A request of the client begins the count anew. An answer to the server does not.
    #[tokio::test]
    async fn a_server_that_floods_is_not_read_any_more() {
        let progress = |_| {
            let params = json!({ "progressToken": 1, "progress": 1 });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
        };
        for (request, more) in [("ping", FOR_ONE_REQUEST), ("", 0)] {
            let (mut transport, _) = asks(progress);
            for _ in 0..FOR_ONE_REQUEST {
                assert!(transport.receive().await.is_some());
            }
            let sent = match request {
                "" => json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
                method => json!({ "jsonrpc": "2.0", "id": 1, "method": method }),
            };
            drop(transport.send(serde_json::from_value(sent).unwrap()));
            for _ in 0..more {
                assert!(transport.receive().await.is_some());
            }
            assert!(transport.receive().await.is_none());
            assert!(transport.floods.load(Ordering::Relaxed));
        }
    }

    /// Notifications that the client does not use are passed over, however many they are.
    #[tokio::test]
    async fn what_is_not_used_is_not_kept() {
        let (mut transport, _) = asks(|n| match n % 50_000 {
            0 => ping(n),
            _ => {
                let params = json!({ "level": "info", "data": "x" });
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
            }
        });
        let message = transport.receive().await.unwrap();
        assert!(matches!(message, JsonRpcMessage::Request(_)));
    }

    #[tokio::test]
    async fn requests_that_are_taken_back_count_all_the_same() {
        let (mut transport, _) = asks(|n| match n % 2 {
            1 => ping(n),
            _ => {
                let params = json!({ "requestId": n - 1 });
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
            }
        });
        assert_eq!(read(&mut transport).await, (OPEN, false));
    }

    #[tokio::test]
    async fn who_asks_twice_by_one_id_is_not_heard_any_more() {
        let (mut transport, _) = asks(|_| ping(7));
        assert_eq!(read(&mut transport).await, (1, true));
    }
}
