//! One connection to one server: opened, asked for its tools, called.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
    CancelledNotificationParam, ClientRequest, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rye_thread::{OutputSink, OutputStream};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::sync::broadcast::error::RecvError;

use super::address::{self, Http};
use super::answers::Answering;
use super::bounded::Bounded;
use super::client::{Client, Progress};
use super::secrets::Secrets;
use super::tool_set::{ToolSet, ToolSetError};
use crate::process::{Captured, Lasting, Pipes, StartError};

/// The longest message that a server may send, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024 * 1024;

/// The most tools that a server may offer, and the most pages that it may spread them over.
const TOOLS: usize = 1000;
const PAGES: usize = 100;

/// The most that they may be altogether, in bytes of JSON: they stay in memory, and a person has to read them.
const LISTED: usize = 4 * 1024 * 1024;

/// How much of each end of what a server writes to standard error is kept.
const STDERR: usize = 8 * 1024;

/// How much a failure quotes of it, and of a message of the server's.
pub(super) const QUOTED: usize = 2 * 1024;

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

/// What a server offers.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) set: ToolSet,
    /// The tools as the server listed them.
    pub(super) listed: Vec<Value>,
}

/// What is left to look at when something went wrong; of a server at an address, nothing is.
#[derive(Debug, Default)]
struct Ends {
    program: Option<Mutex<Lasting>>,
    stderr: Option<Arc<Mutex<Captured>>>,
    is_too_long: Arc<AtomicBool>,
    /// What the server was sent, which is taken out of what it says before that is cut.
    secrets: Secrets,
}

/// Why a server cannot be called, or a call came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Its program cannot be started.
    #[error("the server cannot be started: {0}")]
    Start(String),
    /// Its program is refused before it starts.
    #[error("{0}")]
    Refused(String),
    /// A variable that it is to be handed is not set.
    #[error("the variable `{name}`, which the server is handed, is not set")]
    Variable {
        /// The variable.
        name: String,
    },
    /// The variable for a header that it is sent is not set.
    #[error("the variable for header `{name}` is not set")]
    Header {
        /// The header.
        name: String,
    },
    /// It does not speak the protocol, or ended before it did.
    #[error("the server did not begin: {problem}")]
    Begin {
        /// What happened.
        problem: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// Nothing came of a request over HTTP.
    #[error("the server cannot be asked: {problem}")]
    Http {
        /// What happened.
        problem: String,
    },
    /// It does not know the session any more, and did nothing.
    #[error("the server does not know its session any more")]
    Expired,
    /// Its time is used up.
    #[error("the server did not answer within {seconds} s")]
    Late {
        /// The limit.
        seconds: u64,
    },
    /// What it lists cannot be pinned or compared.
    #[error("what the server offers is refused: {0}")]
    Tools(#[from] ToolSetError),
    /// What it lists has a secret in it that it was sent, which would be written down.
    #[error("what the server offers is refused: it repeats a credential that it was sent")]
    Repeats,
    /// It offers too much.
    #[error(
        "the server offers more than {TOOLS} tools or 4 MiB of them, or lists them on more than {PAGES} pages"
    )]
    TooMany,
    /// It answered with an error, or not by the protocol.
    #[error("the server answered with an error: {problem}")]
    Answer {
        /// What it said.
        problem: String,
    },
    /// It ended, or the connection did.
    #[error("the server is gone: {problem}")]
    Gone {
        /// What is known of it.
        problem: &'static str,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It wants something of its client before it answers.
    #[error("the server asks for more input, and there is nobody to give it")]
    Asks,
    /// It was started too often.
    #[error("the server was started {times} times and did not last")]
    TooOften {
        /// How often.
        times: u32,
    },
}

impl From<StartError> for ConnectError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Io { action, source } => Self::Start(format!("cannot {action}: {source}")),
            refused => Self::Refused(refused.to_string()),
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

/// Why a request came to nothing, before anybody looked at the program.
#[derive(Debug)]
enum Failed {
    Service(ServiceError),
    Known(ConnectError),
}

impl From<ServiceError> for Failed {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

impl From<ConnectError> for Failed {
    fn from(error: ConnectError) -> Self {
        Self::Known(error)
    }
}

/// Everything that the server lists now; the library's own cache is passed by.
async fn list(peer: &Peer<RoleClient>) -> Result<Offered, Failed> {
    let (mut listed, mut bytes, mut cursor) = (Vec::new(), 0, None);
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let request = ClientRequest::ListToolsRequest(ListToolsRequest {
            method: Default::default(),
            params: Some(params),
            extensions: Default::default(),
        });
        let ServerResult::ListToolsResult(page) = peer.send_request(request).await? else {
            return Err(unexpected().into());
        };
        let tools = page.tools.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        let tools = tools.map_err(|_| unexpected())?;
        bytes += tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
        listed.extend(tools);
        cursor = page.next_cursor;
        if listed.len() > TOOLS || bytes > LISTED {
            break;
        }
        if cursor.is_none() {
            let set = ToolSet::of(&listed).map_err(ConnectError::from)?;
            return Ok(Offered { set, listed });
        }
    }
    Err(ConnectError::TooMany.into())
}

fn unexpected() -> ConnectError {
    ConnectError::Answer { problem: "not one that was asked for".to_owned() }
}

impl Ends {
    fn has_ended(&self) -> bool {
        let has_ended =
            |it: &Mutex<Lasting>| it.lock().unwrap_or_else(PoisonError::into_inner).has_ended();
        self.program.as_ref().is_some_and(has_ended)
    }

    fn begin(&self, error: &ClientInitializeError) -> ConnectError {
        if let Some(error) = address::beginning(error, &self.secrets) {
            return error;
        }
        let problem = match self.is_too_long.load(Ordering::Relaxed) {
            true => TOO_LONG.to_owned(),
            false => self.secrets.short(&error.to_string()),
        };
        ConnectError::Begin { problem, stderr: self.stderr() }
    }

    fn told(&self, failed: Failed) -> ConnectError {
        let gone = |problem| ConnectError::Gone { problem, stderr: self.stderr() };
        match failed {
            Failed::Known(error) => self.secrets.error(error),
            _ if self.is_too_long.load(Ordering::Relaxed) => gone(TOO_LONG),
            Failed::Service(ServiceError::McpError(error)) => {
                ConnectError::Answer { problem: self.secrets.short(&error.message) }
            }
            Failed::Service(ServiceError::TransportSend(error)) => {
                address::problem(&error, &self.secrets)
                    .unwrap_or_else(|| gone("the connection ended"))
            }
            Failed::Service(ServiceError::TransportClosed) => gone("the connection ended"),
            Failed::Service(error) => {
                ConnectError::Answer { problem: self.secrets.short(&error.to_string()) }
            }
        }
    }

    fn stderr(&self) -> String {
        let end = |it: &Arc<Mutex<Captured>>| {
            it.lock().unwrap_or_else(PoisonError::into_inner).end(QUOTED)
        };
        self.stderr.as_ref().map(end).unwrap_or_default()
    }
}

const TOO_LONG: &str = "it sent a message of more than 4 MiB";

/// Reads what the program complains of, as long as it does, and keeps its beginning and its end.
fn kept(mut stderr: ChildStderr) -> Arc<Mutex<Captured>> {
    let kept = Arc::new(Mutex::new(Captured::new(STDERR)));
    let keeping = Arc::clone(&kept);
    tokio::spawn(async move {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(n @ 1..) = io_read(&mut stderr, &mut buffer).await {
            let bytes = buffer.get(..n).unwrap_or_default();
            keeping.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        }
    });
    kept
}

async fn io_read(stderr: &mut ChildStderr, buffer: &mut [u8]) -> io::Result<usize> {
    stderr.read(buffer).await
}
