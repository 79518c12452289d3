//! The protocol over two streams of bytes, such as standard input and output.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::RunningService;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
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
        drop(self.unread.acquire().await);
        self.transport.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
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
    let transport = Paced { transport, unread: Arc::new(Semaphore::new(MOST_UNREAD)) };
    let mut stop = std::pin::pin!(stop);
    let begun = tokio::select! {
        begun = begin(handler, transport) => begun,
        () = &mut stop => return Ok(()),
    };
    let Some(running) = begun? else { return Ok(()) };
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

    use rmcp::model::{ClientNotification, InitializedNotification, JsonRpcMessage, ServerResult};

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
        let mut paced = Paced { transport: Deaf::default(), unread };
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
