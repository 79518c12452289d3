//! The protocol over two streams of bytes, such as standard input and output.

use rmcp::RoleServer;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::McpServer;
use super::http::ServeError;

/// The longest message of a client; a longer one is passed over, because its id is not known before it is read.
const MOST_BYTES: usize = 4 * 1024 * 1024;

impl McpServer {
    /// Serves one client until it closes its end or `stop` comes, and stops its threads then, so that they can go on.
    ///
    /// # Errors
    ///
    /// When what comes first is no beginning of the protocol.
    pub async fn serve<R, W>(
        self,
        read: R,
        write: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport = AsyncRwTransport::<RoleServer, R, W>::new_server(read, write)
            .with_max_line_length(MOST_BYTES);
        let mut stop = std::pin::pin!(stop);
        let begun = tokio::select! {
            begun = self.clone().serve_transport(transport) => begun,
            () = &mut stop => return Ok(()),
        };
        let Some(running) = begun? else { return Ok(()) };
        let end = running.cancellation_token();
        let mut waiting = std::pin::pin!(running.waiting());
        tokio::select! {
            _ = &mut waiting => {}
            () = &mut stop => {
                end.cancel();
                drop(waiting.await);
            }
        }
        self.stop().await;
        Ok(())
    }

    /// A client that goes before it said anything is no failure.
    async fn serve_transport<R, W>(
        self,
        transport: AsyncRwTransport<RoleServer, R, W>,
    ) -> Result<Option<rmcp::service::RunningService<RoleServer, Self>>, ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        match rmcp::ServiceExt::serve(self, transport).await {
            Ok(running) => Ok(Some(running)),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(None),
            Err(error) => Err(ServeError::Begin { message: error.to_string() }),
        }
    }
}
