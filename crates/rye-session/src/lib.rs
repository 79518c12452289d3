#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod engine_step;
mod first_request;
mod host;
#[cfg(feature = "mcp")]
mod mcp_server;
mod rye;
mod session;
mod thread_folder;
mod thread_reading;
mod worker_label;

pub use self::engine_step::{StepChain, step_digest};
pub use self::first_request::FirstRequest;
pub use self::host::SystemClock;
#[cfg(feature = "mcp")]
pub use self::mcp_server::{Approvals, McpServer, ServerHost, reading};
pub use self::rye::Rye;
pub use self::session::{
    Cancelled, Continuation, ContinueError, Host, LinkedThreads, ReopenError, RunError, RunReport,
    RunRequest, Secrets, UnfinishedAnswer, decision_commands, divergence_diff, record_failure,
    refuse_linked_threads, resume_command,
};
pub use self::thread_reading::{RecordSigner, ThreadReadError, ThreadReading, covers};
pub use self::worker_label::{WorkerLabel, WorkerLabelError};
#[cfg(feature = "mcp")]
pub use rye_mcp::{HttpOptions, ServeError};
