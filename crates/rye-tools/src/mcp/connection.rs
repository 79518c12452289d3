//! Connections to single servers: opening, listing of tools, calls.

mod diagnosis;
mod error;
mod listing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rye_thread::{OutputSink, OutputStream};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use self::diagnosis::{Diagnosis, Failed, capture_stderr};
pub use self::error::ConnectError;
pub(super) use self::listing::ToolListing;
use self::listing::{list, unexpected_answer, unreadable};
use super::address::Http;
use super::answers::LimitedTransport;
use super::bounded::{BoundedLines, MESSAGE};
use super::client::{Client, Progress};
use super::opening::{Beginning, Opening};
use super::received::WRITTEN;
use rye_sandbox::{Pipes, ServerProcess};

/// The transport of a connection.
pub(super) enum Wire {
    /// The standard input and output of a program.
    Pipes(Box<(ServerProcess, Pipes)>),
    /// HTTP.
    Http(Http),
}

/// An open connection, with the tools that the server listed.
#[derive(Debug)]
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    /// The tools of the last listing.
    offered: Mutex<Arc<ToolListing>>,
    /// Held while the tools are listed again.
    relisting: tokio::sync::Mutex<()>,
    /// `true` for a server that may change without notice, so that its tools are listed before each call.
    is_remote: bool,
    /// `true` if the server has forgotten the session.
    has_expired: AtomicBool,
    ends: Diagnosis,
}

/// Marks the tools as changed again, if the new listing does not finish.
struct ChangeGuard<'a>(Option<&'a Client>);

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.0 {
            client.put_change_back();
        }
    }
}

impl Connection {
    /// Opens the protocol and lists the tools.
    pub(super) async fn open(wire: Wire, opening: Opening) -> Result<Self, ConnectError> {
        let mut ends = Diagnosis { secrets: opening.secrets.clone(), ..Diagnosis::default() };
        match wire {
            // Its client gives up the request by itself.
            Wire::Http(http) => Self::establish(http, &opening, None, ends).await,
            Wire::Pipes(started) => {
                let (program, Pipes { stdin, stdout, stderr, .. }) = *started;
                let (stdout, is_too_long) = BoundedLines::new(stdout, MESSAGE, &opening.awaited);
                ends.program = Some(Mutex::new(program));
                ends.stderr = Some(capture_stderr(stderr));
                ends.is_too_long = is_too_long;
                let transport = AsyncRwTransport::new_client(stdout, stdin);
                Self::establish(transport, &opening, Some(opening.patience), ends).await
            }
        }
    }

    async fn establish<T>(
        transport: T,
        opening: &Opening,
        patience: Option<Duration>,
        mut ends: Diagnosis,
    ) -> Result<Self, ConnectError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let lifecycle = match opening.beginning {
            Beginning::Initialize => ClientLifecycleMode::Initialize,
            Beginning::Discover => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let (transport, floods) = LimitedTransport::new(transport, &opening.awaited, patience);
        ends.floods = floods;
        let begun =
            Client::new(ends.secrets.clone()).serve_with_lifecycle(transport, lifecycle).await;
        let service = begun.map_err(|error| ends.begin(&error))?;
        let offered =
            list(service.peer(), &ends.secrets).await.map_err(|error| ends.explain(error))?;
        Ok(Self {
            service,
            offered: Mutex::new(Arc::new(offered)),
            relisting: tokio::sync::Mutex::default(),
            is_remote: ends.program.is_none(),
            has_expired: AtomicBool::default(),
            ends,
        })
    }

    /// Returns the first message that the server answered.
    pub(super) fn beginning(&self) -> Beginning {
        let server = self.service.peer_info();
        match server.is_some_and(|server| server.protocol_version == ProtocolVersion::LATEST) {
            true => Beginning::Discover,
            false => Beginning::Initialize,
        }
    }

    /// Returns `true` if the connection can still be called.
    pub(super) fn is_open(&self) -> bool {
        !self.service.peer().is_transport_closed()
            && !self.has_expired.load(Ordering::Relaxed)
            && !self.ends.has_ended()
    }

    /// Returns the error of a failed request. An expired session closes the connection.
    fn request_error(&self, failed: Failed) -> ConnectError {
        let error = self.ends.explain(failed);
        if matches!(error, ConnectError::Expired) {
            self.has_expired.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Returns the tools of the server. They are listed again if the server announced a change.
    pub(super) async fn list_tools(
        &self,
        limit: Duration,
    ) -> Result<Arc<ToolListing>, ConnectError> {
        // One listing at a time, so that no call uses the old tools while they are listed again.
        let relisting = tokio::time::timeout(limit, self.relisting.lock()).await;
        let _one = relisting.map_err(|_| ConnectError::Late { seconds: limit.as_secs() })?;
        if self.service.service().take_change() {
            let mut again = ChangeGuard(Some(self.service.service()));
            let listed =
                tokio::time::timeout(limit, list(self.service.peer(), &self.ends.secrets)).await;
            let listed = listed.map_err(|_| ConnectError::Late { seconds: limit.as_secs() })?;
            let offered = Arc::new(listed.map_err(|error| self.request_error(error))?);
            *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = offered;
            again.0 = None;
        }
        if self.is_remote {
            self.service.service().put_change_back();
        }
        Ok(Arc::clone(&self.offered.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Calls a tool and forwards its progress. Returns the result as the server wrote it. If the future is dropped or the time is up, the request is
    /// cancelled.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        limit: Duration,
        told: &dyn OutputSink,
    ) -> Result<Value, ConnectError> {
        let mut progress = self.service.service().progress();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let peer = self.service.peer();
        let sent = peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|error| self.request_error(error.into()))?;
        let mut abandoned = CancelGuard { peer, request: Some(handle.id.clone()) };
        let time = tokio::time::sleep(limit);
        tokio::pin!(time);
        let mut is_told = true;
        let answer = loop {
            tokio::select! {
                answer = &mut handle.rx => break answer.unwrap_or(Err(ServiceError::TransportClosed)),
                piece = progress.recv(), if is_told => match piece {
                    Ok(Progress { token, line }) if token == handle.progress_token => {
                        told.output(OutputStream::Output, &line);
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => is_told = false,
                },
                () = &mut time => return Err(ConnectError::Late { seconds: limit.as_secs() }),
            }
        };
        abandoned.request = None;
        match answer.map_err(|error| self.request_error(error.into()))? {
            ServerResult::CallToolResult(result) => {
                let written = result.meta.as_ref().and_then(|meta| meta.0.get(WRITTEN)?.as_str());
                let written = written.ok_or_else(unexpected_answer)?;
                serde_json::from_str(written)
                    .map_err(|error| self.request_error(unreadable(&error)))
            }
            ServerResult::InputRequiredResult(_) => Err(ConnectError::Asks),
            _ => Err(unexpected_answer()),
        }
    }
}

/// A guard that cancels a request, unless it was answered.
struct CancelGuard<'a> {
    peer: &'a Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let param = CancelledNotificationParam::new(
            Some(id),
            Some("the caller no longer waits".to_owned()),
        );
        runtime.spawn(async move {
            let notification = CancelledNotification::new(param);
            // The server may be gone.
            let _gone = peer.send_notification(notification.into()).await;
        });
    }
}
