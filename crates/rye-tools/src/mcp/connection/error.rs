//! Why a server cannot be called.

use super::listing::{PAGES, TOOLS};
use crate::mcp::tool_set::ToolSetError;
use crate::process::StartError;

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
