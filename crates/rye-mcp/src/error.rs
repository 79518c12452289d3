//! The errors of serving.

use std::io;
use std::net::SocketAddr;

/// The reason why the server cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol does.
    #[error("the client does not speak the protocol: {message}")]
    Begin {
        /// The error of the protocol's library.
        message: String,
    },
    /// The address is one that other machines reach.
    #[error("`{address}` is reachable by other machines; listen on 127.0.0.1 or [::1]")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot listen")]
    Io(#[from] io::Error),
}
