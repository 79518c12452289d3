//! The reason why a request of a client was not carried out.

use rye_project::primary::{PrimaryError, causes, error_json};
use rye_project::{Class, OpenError};
use rye_thread::ThreadReference;
use serde_json::Value;

use crate::session::{ReopenError, RunError};

/// The reason why a request of a client was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// The operator's key cannot be read.
    #[error("the signing key cannot be used: {message}")]
    Key {
        /// The obstacle.
        message: String,
    },
    /// The spaces cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A primary operation was not done.
    #[error(transparent)]
    Primary(#[from] PrimaryError),
    /// A thread does not go on.
    #[error(transparent)]
    Reopen(#[from] ReopenError),
    /// A thread did not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// As many calls are under way as may be at a time.
    #[error("{most} calls are under way already; wait until one is answered")]
    TooManyCalls {
        /// The most calls that may be under way at a time.
        most: usize,
    },
    /// As many threads run as may run at a time.
    #[error("{most} threads run already; wait until one has ended")]
    TooManyThreads {
        /// The most threads that may run at a time.
        most: usize,
    },
    /// No skill of the client has this URI.
    #[error("there is no skill at `{uri}`; {}", instead(.near.as_deref()))]
    UnknownSkill {
        /// The URI that the client gave.
        uri: String,
        /// The nearest URI of a skill that there is.
        near: Option<String>,
    },
    /// The client started no such thread here.
    #[error("there is no thread `{thread}` that was started here")]
    UnknownThread {
        /// The id or the part of one that the client gave.
        thread: ThreadReference,
    },
}

impl RequestError {
    /// A request that makes no sense.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        PrimaryError::usage(message).into()
    }

    fn class(&self) -> Class {
        match self {
            Self::Open(OpenError::Resolve(error)) if error.is_unverified() => Class::Refused,
            Self::Key { .. } | Self::Open(_) => Class::Failed,
            Self::Primary(error) => error.class(),
            Self::Reopen(error) => error.class(),
            Self::Run(error) => error.class(),
            Self::TooManyCalls { .. } | Self::TooManyThreads { .. } => Class::Limit,
            Self::UnknownSkill { .. } | Self::UnknownThread { .. } => Class::Usage,
        }
    }

    /// The error and its causes, outermost first.
    pub(super) fn causes(&self) -> Vec<String> {
        causes(self)
    }

    /// The error as every surface tells it.
    pub(super) fn to_json(&self) -> Value {
        error_json(self.class(), self)
    }
}

fn instead(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`skills/list` lists them".to_owned(),
    }
}
