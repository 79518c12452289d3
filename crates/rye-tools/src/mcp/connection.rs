//! One connection to one server: opened, asked for its tools, called.

mod ends;
mod error;
mod listing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
    CancelledNotificationParam, ClientRequest, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rye_thread::{OutputSink, OutputStream};
use tokio::sync::broadcast::error::RecvError;

pub(super) use self::ends::QUOTED;
use self::ends::{Ends, Failed, kept};
pub use self::error::ConnectError;
pub(super) use self::listing::Offered;
use self::listing::{list, unexpected};
use super::address::Http;
use super::answers::Answering;
use super::bounded::Bounded;
use super::client::{Client, Progress};
use super::secrets::Secrets;
use crate::process::{Lasting, Pipes};

/// The longest message that a server may send, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024 * 1024;

/// What a server is spoken to over.
pub(super) enum Wire {
    /// A program's standard input and output.
    Pipes(Box<(Lasting, Pipes)>),
    /// HTTP.
    Http(Http),
}

/// A server that was reached and said what it offers.
#[derive(Debug)]
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    /// Everything that the server listed, as it was last asked.
    offered: Mutex<Arc<Offered>>,
    /// Held by whoever asks anew.
    relisting: tokio::sync::Mutex<()>,
    /// Whether it tells of no change for sure, so that it is asked what it offers before each call.
    is_remote: bool,
    /// Whether the server forgot who asks.
    has_expired: AtomicBool,
    ends: Ends,
}

/// Says again that the tools changed, where whoever took the notice did not come to ask.
struct Again<'a>(Option<&'a Client>);

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.0 {
            client.put_change_back();
        }
    }
}

impl Connection {
    /// Speaks to a server that was reached until it said what it offers: the newer revision of the protocol where it knows it,
    /// else the older ones.
    pub(super) async fn open(
        wire: Wire,
        limit: Duration,
        secrets: Secrets,
    ) -> Result<Self, ConnectError> {
        let begun = async {
            match wire {
                Wire::Http(http) => Self::begun(http, Ends { secrets, ..Ends::default() }).await,
                Wire::Pipes(started) => {
                    let (program, Pipes { stdin, stdout, stderr }) = *started;
                    let (stdout, is_too_long) = Bounded::new(stdout, MESSAGE);
                    let (program, stderr) = (Some(Mutex::new(program)), Some(kept(stderr)));
                    let transport = AsyncRwTransport::new_client(stdout, stdin);
                    Self::begun(transport, Ends { program, stderr, is_too_long, secrets }).await
                }
            }
        };
        let begun = tokio::time::timeout(limit, begun).await;
        begun.unwrap_or(Err(ConnectError::Late { seconds: limit.as_secs() }))
    }

    async fn begun<T>(transport: T, ends: Ends) -> Result<Self, ConnectError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let transport = Answering::new(transport);
        let begun =
            Client::new(ends.secrets.clone()).serve_with_lifecycle(transport, lifecycle).await;
        let service = begun.map_err(|error| ends.begin(&error))?;
        let offered = list(service.peer()).await.map_err(|error| ends.told(error))?;
        Ok(Self {
            service,
            offered: Mutex::new(Arc::new(offered)),
            relisting: tokio::sync::Mutex::default(),
            is_remote: ends.program.is_none(),
            has_expired: AtomicBool::default(),
            ends,
        })
    }

    /// Whether it can still be called.
    pub(super) fn is_open(&self) -> bool {
        !self.service.peer().is_transport_closed()
            && !self.has_expired.load(Ordering::Relaxed)
            && !self.ends.has_ended()
    }

    /// The failure of a request, after which the connection may be of no use.
    fn failed(&self, failed: Failed) -> ConnectError {
        let error = self.ends.told(failed);
        if matches!(error, ConnectError::Expired) {
            self.has_expired.store(true, Ordering::Relaxed);
        }
        error
    }

    /// What it offers; asked for again where it said that this changed.
    pub(super) async fn offered(&self, limit: Duration) -> Result<Arc<Offered>, ConnectError> {
        // One at a time, so that nobody goes by what was offered before while somebody asks anew.
        let relisting = tokio::time::timeout(limit, self.relisting.lock()).await;
        let _one = relisting.map_err(|_| ConnectError::Late { seconds: limit.as_secs() })?;
        if self.service.service().take_change() {
            let mut again = Again(Some(self.service.service()));
            let listed = tokio::time::timeout(limit, list(self.service.peer())).await;
            let listed = listed.map_err(|_| ConnectError::Late { seconds: limit.as_secs() })?;
            let offered = Arc::new(listed.map_err(|error| self.failed(error))?);
            *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = offered;
            again.0 = None;
        }
        if self.is_remote {
            self.service.service().put_change_back();
        }
        Ok(Arc::clone(&self.offered.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Calls a tool and tells of its progress. When the future is dropped or its time is used up, the server is told that nobody
    /// waits any more.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        limit: Duration,
        told: &dyn OutputSink,
    ) -> Result<CallToolResult, ConnectError> {
        let mut progress = self.service.service().progress();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let peer = self.service.peer();
        let sent = peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|error| self.failed(error.into()))?;
        let mut abandoned = Abandoned { peer, request: Some(handle.id.clone()) };
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
        match answer.map_err(|error| self.failed(error.into()))? {
            ServerResult::CallToolResult(result) => Ok(result),
            ServerResult::InputRequiredResult(_) => Err(ConnectError::Asks),
            _ => Err(unexpected()),
        }
    }
}

/// A request that somebody stopped waiting for, unless it was answered.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let param =
            CancelledNotificationParam::new(Some(id), Some("nobody waits for it".to_owned()));
        runtime.spawn(async move {
            let notification = CancelledNotification::new(param);
            // A server that is gone need not be told.
            let _gone = peer.send_notification(notification.into()).await;
        });
    }
}
