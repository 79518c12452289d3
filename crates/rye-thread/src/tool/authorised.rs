//! A call that was authorised, which is the only thing that a tool runs.

use std::fmt;
use std::sync::Arc;

use rye_caps::Permit;
use serde_json::Value;

use super::{OutputSink, Tool, ToolOutput};

/// A call that an authority allows, with arguments that fit the schema of its tool.
///
/// A thread makes it for a call of its model, and [`Palette::authorise`](crate::Palette::authorise) for a call outside of a thread.
/// No other crate can make one:
///
/// ```compile_fail,E0451
/// use rye_thread::{AuthorisedCall, Tool};
///
/// fn forge(tool: std::sync::Arc<dyn Tool>, permit: rye_caps::Permit) -> AuthorisedCall {
///     AuthorisedCall { tool, permit, arguments: serde_json::json!({}) }
/// }
/// ```
///
/// ```compile_fail,E0624
/// use rye_thread::{AuthorisedCall, Tool};
///
/// fn forge(tool: std::sync::Arc<dyn Tool>, permit: rye_caps::Permit) -> AuthorisedCall {
///     AuthorisedCall::new(tool, permit, serde_json::json!({}))
/// }
/// ```
///
/// Nor can a call be run twice:
///
/// ```compile_fail,E0382
/// async fn run_twice(call: rye_thread::AuthorisedCall) {
///     call.run(&()).await;
///     call.run(&()).await;
/// }
/// ```
pub struct AuthorisedCall {
    tool: Arc<dyn Tool>,
    permit: Permit,
    arguments: Value,
}

impl AuthorisedCall {
    /// Creates the call. The caller has checked the arguments against the schema of the tool.
    pub(crate) const fn new(tool: Arc<dyn Tool>, permit: Permit, arguments: Value) -> Self {
        Self { tool, permit, arguments }
    }

    /// Replaces the arguments by those that the operator was shown.
    pub(crate) fn with_approved_arguments(self, arguments: Value) -> Self {
        Self { arguments, ..self }
    }

    /// Returns the permit, whose authority bounds everything that the call does.
    pub const fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the arguments.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns the arguments. The permit is used up.
    #[must_use]
    pub fn into_arguments(self) -> Value {
        self.arguments
    }

    /// Returns the tool that the call is for.
    pub(crate) const fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Runs the call with its tool, and reports pieces of the output as they arrive.
    pub async fn run(self, sink: &dyn OutputSink) -> ToolOutput {
        let tool = Arc::clone(&self.tool);
        tool.call_with_sink(self, sink).await
    }
}

impl fmt::Debug for AuthorisedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorisedCall")
            .field("permit", &self.permit)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}
