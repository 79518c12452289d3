//! A transport on which few answers wait for a server to take them.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// As many requests of a server may be without an answer that it took; until then it is not read any further.
const OPEN: usize = 64;

/// Reads a server no further while it leaves too many answers lying.
///
/// Whoever asks without reading is then stopped by its own pipe, and a call of ours that waits behind it runs out of time. A
/// request is answered at once, so that taking one back changes nothing; such notices are not passed on, because each request
/// that is passed on then gets one answer.
#[derive(Debug)]
pub(super) struct Answering<T> {
    inner: T,
    open: Arc<Open>,
}

/// The requests of the server whose answers were not taken yet.
#[derive(Debug, Default)]
struct Open {
    ids: Mutex<Vec<RequestId>>,
    fewer: Notify,
}

impl<T> Answering<T> {
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

    /// Whether the id is that of no other open request.
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

impl<T: Transport<RoleClient>> Transport<RoleClient> for Answering<T> {
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
        let (sending, open) = (self.inner.send(message), Arc::clone(&self.open));
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                open.end(&id);
            }
            sent
        }
    }

    /// The next message; the end, where a server asks a second time by the id of a request that is open.
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

    /// A server that asks without end, and takes as many answers as there are permits.
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

    fn asks(line: fn(u64) -> serde_json::Value) -> (Answering<Asks>, Arc<Semaphore>) {
        let taken = Arc::new(Semaphore::new(0));
        (Answering::new(Asks { next: 0, taken: Arc::clone(&taken), line }), taken)
    }

    fn ping(id: u64) -> serde_json::Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    /// Reads and answers until nothing more comes by itself; says how many came, and whether it is over.
    async fn read(transport: &mut Answering<Asks>) -> (usize, bool) {
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
