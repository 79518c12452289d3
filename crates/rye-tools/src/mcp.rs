//! Tools of MCP servers: which servers there are, what they may offer, and one connection to each.
//!
//! What a server says is not believed. It is called under one name of its own with arguments that a signed wrapper decides,
//! only while the whole of what it offers is what somebody looked at ([`ToolSet`]), and whatever it asks of its client is
//! refused.

#[cfg(feature = "mcp")]
mod address;
#[cfg(feature = "mcp")]
mod answers;
#[cfg(feature = "mcp")]
mod bounded;
#[cfg(feature = "mcp")]
mod client;
#[cfg(feature = "mcp")]
mod connection;
#[cfg(feature = "mcp")]
mod connections;
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
pub use self::connections::Connections;
pub use self::server::{Reached, Server, ServerAddress, ServerHeader, ServerProgram};
#[cfg(feature = "mcp")]
pub use self::tool::{Wrapper, WrapperError};
pub use self::tool_set::{FIELDS, ToolChange, ToolSet, ToolSetError};
