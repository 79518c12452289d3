//! What went wrong with a server, by what is left of it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{ClientInitializeError, ServiceError};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

use super::ConnectError;
use crate::mcp::address;
use crate::mcp::secrets::Secrets;
use crate::process::{Captured, Lasting};

/// How much of each end of what a server writes to standard error is kept.
const STDERR: usize = 8 * 1024;

/// How much a failure quotes of it, and of a message of the server's.
pub(in crate::mcp) const QUOTED: usize = 2 * 1024;

/// What is left to look at when something went wrong; of a server at an address, nothing is.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) program: Option<Mutex<Lasting>>,
    pub(super) stderr: Option<Arc<Mutex<Captured>>>,
    pub(super) is_too_long: Arc<AtomicBool>,
    /// What the server was sent, which is taken out of what it says before that is cut.
    pub(super) secrets: Secrets,
}

/// Why a request came to nothing, before anybody looked at the program.
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

impl Ends {
    pub(super) fn has_ended(&self) -> bool {
        let has_ended =
            |it: &Mutex<Lasting>| it.lock().unwrap_or_else(PoisonError::into_inner).has_ended();
        self.program.as_ref().is_some_and(has_ended)
    }

    pub(super) fn begin(&self, error: &ClientInitializeError) -> ConnectError {
        if let Some(error) = address::beginning(error, &self.secrets) {
            return error;
        }
        let problem = match self.is_too_long.load(Ordering::Relaxed) {
            true => TOO_LONG.to_owned(),
            false => self.secrets.short(&error.to_string()),
        };
        ConnectError::Begin { problem, stderr: self.stderr() }
    }

    pub(super) fn told(&self, failed: Failed) -> ConnectError {
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
pub(super) fn kept(mut stderr: ChildStderr) -> Arc<Mutex<Captured>> {
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
