//! An MCP server for the primary operations (SPEC 12.2), and for checks and explanations (SPEC 17.5).
//!
//! A client is not the operator. It may do what [`ServerHost::grant`] holds, which is searching and loading
//! unless the operator adds to it. It may check and explain what it may load. Each request opens the spaces anew, so that the loss of trust counts at
//! once.

mod arguments;
mod asking;
mod call;
mod directive_tools;
mod error;
mod explaining;
mod followed;
mod forks;
mod handler;
mod host;
mod progress;
mod prompts;
mod question;
mod request_state;
mod results;
mod runs;
mod skills;
mod tools;

pub use self::handler::McpServer;
pub use self::host::{Approvals, ServerHost, reading};
