//! Diagnosis of failed connections.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

use super::ConnectError;
use crate::mcp::address;
use crate::mcp::received::UNREADABLE;
use crate::mcp::secrets::{QUOTED, Secrets};
use rye_sandbox::{Capture, ServerProcess};

/// The number of bytes that are kept of each end of the standard error of a server.
const STDERR: usize = 8 * 1024;

/// The data for a diagnosis. For a server at an address, only the secrets.
#[derive(Debug, Default)]
pub(super) struct Diagnosis {
    pub(super) program: Option<Mutex<ServerProcess>>,
    pub(super) stderr: Option<Arc<Mutex<Capture>>>,
    pub(super) is_too_long: Arc<AtomicBool>,
    /// `true` if the server sent more messages than one request can have.
    pub(super) floods: Arc<AtomicBool>,
    /// The values that the server received, which are removed from its texts before these are cut.
    pub(super) secrets: Secrets,
}

/// The cause of a failed request, before the state of the program is considered.
#[derive(Debug)]
pub(super) enum Failed {
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

impl Diagnosis {
    pub(super) fn has_ended(&self) -> bool {
        let has_ended = |it: &Mutex<ServerProcess>| {
            it.lock().unwrap_or_else(PoisonError::into_inner).has_ended()
        };
        self.program.as_ref().is_some_and(has_ended)
    }

    pub(super) fn begin(&self, error: &ClientInitializeError) -> ConnectError {
        if let Some(error) = address::beginning(error, &self.secrets) {
            return error;
        }
        let problem = match self.exceeded() {
            Some(limit) => limit.to_owned(),
            None => self.secrets.short(&self.beginning(error)),
        };
        let stderr = self.stderr();
        let problem = match self.hint(&stderr) {
            Some(hint) => format!("{problem} ({})", self.secrets.short(&hint)),
            None => problem,
        };
        ConnectError::Begin { problem, stderr }
    }

    /// Returns what the sandbox withholds from the server, if its standard error says that it lacks that.
    fn hint(&self, stderr: &str) -> Option<String> {
        let program = self.program.as_ref()?;
        program.lock().unwrap_or_else(PoisonError::into_inner).hint(stderr)
    }

    /// Returns the limit that the server exceeded, after which the connection is closed.
    fn exceeded(&self) -> Option<&'static str> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        match () {
            () if is_set(&self.is_too_long) => Some(TOO_LONG),
            () if is_set(&self.floods) => Some(TOO_MANY),
            () => None,
        }
    }

    /// Returns the reason for which the protocol did not begin, without names of this program's parts.
    fn beginning(&self, error: &ClientInitializeError) -> String {
        match error {
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => {
                // Which of the two is seen first differs from run to run.
                "it ended or closed the connection before it answered".to_owned()
            }
            ClientInitializeError::JsonRpcError(error) if is_unreadable(error) => {
                format!("its answer cannot be read: {}", error.message)
            }
            ClientInitializeError::JsonRpcError(error) => {
                format!("it answered with an error: {}", error.message)
            }
            ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
                "its answer is not one to `initialize` of the Model Context Protocol".to_owned()
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                "it speaks no revision of the Model Context Protocol that Rye knows".to_owned()
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                self.beginning(fallback)
            }
            error => error.to_string(),
        }
    }

    pub(super) fn explain(&self, failed: Failed) -> ConnectError {
        let gone = |problem| ConnectError::Gone { problem, stderr: self.stderr() };
        if let (Failed::Service(_), Some(limit)) = (&failed, self.exceeded()) {
            return gone(limit);
        }
        match failed {
            Failed::Known(error) => self.secrets.error(error),
            Failed::Service(ServiceError::McpError(error)) if is_unreadable(&error) => {
                ConnectError::Unreadable { problem: self.secrets.short(&error.message) }
            }
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
        let end = |it: &Arc<Mutex<Capture>>| {
            let captured = it.lock().unwrap_or_else(PoisonError::into_inner);
            captured.end_of_changed(QUOTED, |text| self.secrets.text(text))
        };
        self.stderr.as_ref().map(end).unwrap_or_default()
    }
}

/// Returns `true` for the error in place of an answer that cannot be read.
fn is_unreadable(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data.get(UNREADABLE).is_some())
}

const TOO_LONG: &str = "it sent a message of more than 4 MiB";
const TOO_MANY: &str = "it sent more than 10,000 messages for one request";

/// Reads the standard error of the program to its end, and keeps its first and last bytes.
pub(super) fn capture_stderr(mut stderr: ChildStderr) -> Arc<Mutex<Capture>> {
    let kept = Arc::new(Mutex::new(Capture::new(STDERR)));
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
