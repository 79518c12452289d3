//! A transport that limits the number of unread answers.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// The number of requests of a server whose answers may be unread. At this number, the client reads no
/// further messages.
const OPEN: usize = 64;

/// A transport that stops reading from a server while too many answers to it are unread.
///
/// A server that sends requests without reading the answers is then blocked by its own pipe, and a pending
/// call of the client ends with a timeout. Every request is answered at once, so that its cancellation has no
/// effect. Such notifications are not passed on, so that each request has exactly one answer.
#[derive(Debug)]
pub(super) struct LimitedTransport<T> {
    inner: T,
    open: Arc<Open>,
}

/// The requests of the server whose answers are unread.
#[derive(Debug, Default)]
struct Open {
    ids: Mutex<Vec<RequestId>>,
    fewer: Notify,
}

impl<T> LimitedTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, open: Arc::default() }
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

    /// Returns the next message. Diagnosis the connection if a request has the id of an open one.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.open.room().await;
            let message = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Request(request) if !self.open.begin(&request.id) => return None,
                JsonRpcMessage::Notification(told) if is_taken_back(&told.notification) => {}
                _ => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

const fn is_taken_back(told: &ServerNotification) -> bool {
    matches!(told, ServerNotification::CancelledNotification(_))
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
            Some(serde_json::from_value((self.line)(self.next)).unwrap())
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn asks(line: fn(u64) -> serde_json::Value) -> (LimitedTransport<Asks>, Arc<Semaphore>) {
        let taken = Arc::new(Semaphore::new(0));
        (LimitedTransport::new(Asks { next: 0, taken: Arc::clone(&taken), line }), taken)
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
