//! Errors of connections to servers.

use crate::mcp::tool_set::ToolSetError;
use rye_sandbox::StartError;

/// The largest number of tools of a server, and of pages in its listing.
pub(super) const TOOLS: usize = 1000;
pub(super) const PAGES: usize = 100;

/// The error of a connection or a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The program cannot be started.
    #[error("the server cannot be started: {0}")]
    Start(String),
    /// The program or the address is refused.
    #[error("{0}")]
    Refused(String),
    /// A variable for the program is not set.
    #[error("the variable `{name}`, which the server is handed, is not set")]
    Variable {
        /// The variable.
        name: String,
    },
    /// The variable for a header is not set.
    #[error("the variable for header `{name}` is not set")]
    Header {
        /// The header.
        name: String,
    },
    /// The server does not support the protocol, or ended too early.
    #[error("the server did not begin: {problem}")]
    Begin {
        /// A description of the problem.
        problem: String,
        /// The end of the standard error.
        stderr: String,
    },
    /// An HTTP request failed.
    #[error("the server cannot be asked: {problem}")]
    Http {
        /// A description of the problem.
        problem: String,
    },
    /// The server has forgotten the session, and did nothing.
    #[error("the server does not know its session any more")]
    Expired,
    /// The time limit is reached.
    #[error("the server did not answer within {seconds} s")]
    Late {
        /// The limit.
        seconds: u64,
    },
    /// The listed tools cannot be pinned or compared.
    #[error("what the server offers is refused: {0}")]
    Tools(#[from] ToolSetError),
    /// The listed tools contain a secret that the server received. It would be written to a file.
    #[error("what the server offers is refused: it repeats a credential that it was sent")]
    Repeats,
    /// The server offers too many tools.
    #[error(
        "the server offers more than {TOOLS} tools or 4 MiB of them, or lists them on more than {PAGES} pages"
    )]
    TooMany,
    /// The server answered with an error, or broke the protocol.
    #[error("the server answered with an error: {problem}")]
    Answer {
        /// The message of the server.
        problem: String,
    },
    /// The answer is not one of the protocol.
    #[error("the answer cannot be read: {problem}")]
    Unreadable {
        /// A description of the problem.
        problem: String,
    },
    /// The server or the connection has ended.
    #[error("the server is gone: {problem}")]
    Gone {
        /// A description of the problem.
        problem: &'static str,
        /// The end of the standard error.
        stderr: String,
    },
    /// The server asks its client for input.
    #[error("the server asks for more input, which this client does not give")]
    Asks,
    /// The program was started too often.
    #[error("the server was started {times} times and did not last")]
    TooOften {
        /// The number of starts.
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
