//! Tools of MCP servers: the servers, the tools that they may offer, and a connection to each.
//!
//! A server is not trusted. A tool of a server is called under a name of Rye's own, with arguments that a
//! signed wrapper decides. It is called only while everything that the server offers equals the set that the
//! operator accepted ([`ToolSet`]). Requests of a server to its client are refused.

#[cfg(feature = "mcp")]
mod address;
#[cfg(feature = "mcp")]
mod answers;
#[cfg(feature = "mcp")]
mod awaited;
#[cfg(feature = "mcp")]
mod bounded;
#[cfg(feature = "mcp")]
mod client;
#[cfg(feature = "mcp")]
mod connection;
#[cfg(feature = "mcp")]
mod connections;
#[cfg(feature = "mcp")]
mod facts;
#[cfg(feature = "mcp")]
mod http_client;
#[cfg(feature = "mcp")]
mod opening;
#[cfg(feature = "mcp")]
mod received;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod secrets;
mod server;
#[cfg(feature = "mcp")]
mod tool;
mod tool_set;

#[cfg(feature = "mcp")]
pub use self::connection::ConnectError;
#[cfg(feature = "mcp")]
pub use self::connections::{Connections, Discovered};
#[cfg(feature = "mcp")]
pub use self::facts::ServerFacts;
pub use self::server::{Reached, Server, ServerAddress, ServerHeader, ServerProgram};
#[cfg(feature = "mcp")]
pub use self::tool::{Wrapper, WrapperError};
pub use self::tool_set::{ToolChange, ToolSet, ToolSetError};
