//! What a tool is to a thread: a description for the model, and one call that needs a permit.

pub(crate) mod disk;

use std::time::Duration;

use async_trait::async_trait;
use rye_caps::Permit;
use serde_json::Value;

use crate::AddedItem;

/// What a provider shows to the model of one tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name in the model's palette; [`Palette`](crate::Palette) sets it from the item id (SPEC 5.4).
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The JSON schema of the arguments, an object schema.
    pub input_schema: Value,
    /// The JSON schema of the result, where the tool declares one.
    pub output_schema: Option<Value>,
}

impl ToolSpec {
    /// A tool without an output schema.
    #[must_use]
    pub fn new(name: &str, description: &str, input_schema: Value) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self { name, description, input_schema, output_schema: None }
    }

    /// The same tool with the JSON schema of its result.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }
}

/// Something that a thread can run once an authority permitted it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Runs with arguments that already satisfy the input schema.
    ///
    /// The future may be dropped when the thread is cancelled or its time is used up, so it must stop its effect then.
    async fn call(&self, permit: &Permit, arguments: Value) -> ToolOutput;

    /// Does the same, and tells of its output while it comes; one who cannot tells nothing.
    async fn watched(
        &self,
        permit: &Permit,
        arguments: Value,
        told: &dyn OutputSink,
    ) -> ToolOutput {
        let _nobody_tells = told;
        self.call(permit, arguments).await
    }

    /// How long people have thought, by this time of the driver's clock, about what a call of this tool waits for: that is none
    /// of the thread's time. Only a difference of two of them counts. Tools that wait for nobody have none.
    fn thought(&self, now: Duration) -> Duration {
        let _nobody_thinks = now;
        Duration::ZERO
    }
}

/// Somebody who watches the output of a call grow; only what the call gives back in the end is recorded.
pub trait OutputSink: Send + Sync {
    /// Called with each piece in order, at once; it must not wait.
    fn output(&self, stream: OutputStream, text: &str);
}

/// Nobody watches.
impl OutputSink for () {
    fn output(&self, _: OutputStream, _: &str) {}
}

/// Where a program wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputStream {
    /// Its standard error.
    Error,
    /// Its standard output.
    Output,
}

/// A function of the arguments is a tool; it is called as it is, so that it should be quick.
#[async_trait]
impl<F: Fn(Value) -> ToolOutput + Send + Sync> Tool for F {
    async fn call(&self, _: &Permit, arguments: Value) -> ToolOutput {
        self(arguments)
    }
}

/// What a tool gave back; the model reads `content` whatever the status.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The result, or what went wrong.
    pub content: Value,
    /// Whether it worked.
    pub status: ToolStatus,
    /// The items whose texts `content` adds to the conversation, each of which bounds the thread from now on.
    pub added: Vec<AddedItem>,
}

impl ToolOutput {
    /// A result.
    #[must_use]
    pub const fn ok(content: Value) -> Self {
        Self { content, status: ToolStatus::Ok, added: Vec::new() }
    }

    /// The same result, which adds these items to the conversation.
    #[must_use]
    pub fn with_added(self, added: Vec<AddedItem>) -> Self {
        Self { added, ..self }
    }

    /// A failure that the model can read and work around.
    #[must_use]
    pub const fn error(content: Value) -> Self {
        Self { content, status: ToolStatus::Error, added: Vec::new() }
    }

    /// A refusal by the tool's own confinement, such as a path outside the project.
    #[must_use]
    pub const fn refused(content: Value) -> Self {
        Self { content, status: ToolStatus::Refused, added: Vec::new() }
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolStatus {
    /// It failed.
    Error,
    /// It did what was asked.
    Ok,
    /// Its own confinement said no.
    Refused,
}

/// What running a tool twice would do, which decides what may run in parallel and what may be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Twice is the same as once.
    Idempotent,
    /// Twice is not the same as once.
    Once,
    /// Nothing outside the tool changes, so that calls may run in parallel.
    ReadOnly,
}

impl Effect {
    /// `read_only`, `idempotent` or `once`, as the transcript writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Once => "once",
            Self::ReadOnly => "read_only",
        }
    }
}
