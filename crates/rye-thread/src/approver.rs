//! The operator while a thread runs: the calls to ask about, and a way to ask.

use async_trait::async_trait;

use crate::{ApprovalRequest, Decider, Decision};

/// The approval policy of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call needs approval or it does not")]
pub enum Asking {
    /// Each call waits for a decision.
    Always,
    /// The authority alone decides.
    #[default]
    Never,
}

/// A way to ask the operator while a thread runs.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Returns the decision and its source, or `None` if no decision is possible now. `None` suspends the thread.
    ///
    /// The future is dropped when the thread is stopped. Its time does not count as time of the thread.
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)>;
}

/// No operator is present, so each approval suspends the thread.
#[async_trait]
impl Approver for () {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        None
    }
}
