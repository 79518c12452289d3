//! The interface of a tool: a call that was authorised, and its output.

mod authorised;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub use self::authorised::AuthorisedCall;
use crate::AddedItem;

/// A tool that a thread can run after an authority permitted it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Runs a call.
    ///
    /// The future may be dropped when the thread is cancelled or its time is used up. The tool must stop its effect
    /// then.
    async fn call(&self, call: AuthorisedCall) -> ToolOutput;

    /// Runs like [`call`](Self::call), and reports pieces of the output as they arrive. By default, it reports nothing.
    async fn call_with_sink(&self, call: AuthorisedCall, sink: &dyn OutputSink) -> ToolOutput {
        let _unused = sink;
        self.call(call).await
    }

    /// Returns the total of approval waits in calls of this tool until `now`, on the driver's clock.
    ///
    /// Such waits do not count as time of the thread. Only the difference between two calls counts. By default, there
    /// are none.
    fn approval_wait(&self, now: Duration) -> Duration {
        let _unused = now;
        Duration::ZERO
    }
}

/// The receiver of a call's output in progress. Only the final output is recorded.
pub trait OutputSink: Send + Sync {
    /// Receives each piece in order, at once. It must not block.
    fn output(&self, stream: OutputStream, text: &str);
}

/// Ignores the output.
impl OutputSink for () {
    fn output(&self, _: OutputStream, _: &str) {}
}

/// The stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputStream {
    /// Its standard error.
    Error,
    /// Its standard output.
    Output,
}

/// A function of the arguments is a tool. It runs on the driver's task, so it should be quick.
#[async_trait]
impl<F: Fn(Value) -> ToolOutput + Send + Sync> Tool for F {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self(call.into_arguments())
    }
}

/// The output of a tool. The model reads `content` in any status.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The result, or the problem.
    pub content: Value,
    /// The status of the call.
    pub status: ToolStatus,
    /// The items whose texts `content` adds to the conversation. Each of them bounds the thread from now on.
    pub added: Vec<AddedItem>,
    /// The standard error of a program that succeeded. The record keeps it for the operator; the model does not read it.
    pub standard_error: Option<Box<str>>,
}

impl ToolOutput {
    /// Creates a successful output.
    #[must_use]
    pub const fn ok(content: Value) -> Self {
        Self { content, status: ToolStatus::Ok, added: Vec::new(), standard_error: None }
    }

    /// Sets the items that the output adds to the conversation.
    #[must_use]
    pub fn with_added(self, added: Vec<AddedItem>) -> Self {
        Self { added, ..self }
    }

    /// Sets the standard error of the program that made the output. Empty text is none.
    #[must_use]
    pub fn with_standard_error(self, text: String) -> Self {
        let standard_error = (!text.is_empty()).then(|| text.into_boxed_str());
        Self { standard_error, ..self }
    }

    /// Creates the output of a failure that the model can read and work around.
    #[must_use]
    pub const fn error(content: Value) -> Self {
        Self { content, status: ToolStatus::Error, added: Vec::new(), standard_error: None }
    }

    /// Creates the output of a refusal by the tool's own confinement, such as for a path outside the project.
    #[must_use]
    pub const fn refusal(content: Value) -> Self {
        Self { content, status: ToolStatus::Refused, added: Vec::new(), standard_error: None }
    }
}

/// The status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolStatus {
    /// It failed.
    Error,
    /// It succeeded.
    Ok,
    /// Its own confinement refused.
    Refused,
}
