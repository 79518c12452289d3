//! The way in which a connection is opened.

use std::time::Duration;

use super::awaited::Awaited;
use super::secrets::Secrets;

/// The first message of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// `server/discover` of the newest revision, and `initialize` after an answer that is none to it.
    Discover,
    /// `initialize` of the older revisions.
    Initialize,
}

/// The requests of a connection that is opened, and the times for it.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) beginning: Beginning,
    /// The open requests, which the transport shares.
    pub(super) awaited: Awaited,
    /// The time for an answer to `server/discover`.
    pub(super) patience: Duration,
    pub(super) secrets: Secrets,
}
