//! One question at a time, however many threads have one, and answers of other processes to each.

use std::sync::Arc;

use async_trait::async_trait;
use rye_thread::{ApprovalRequest, Approver, Decider, Decision};
use tokio::sync::Mutex;

use super::tree::Tree;

/// Asks the approver about one call after the other. A call is decided as well by a request of another process.
pub(super) struct OneAtATime<'a> {
    approver: &'a dyn Approver,
    tree: Arc<Tree>,
    turn: Mutex<()>,
}

impl<'a> OneAtATime<'a> {
    pub(super) fn new(approver: &'a dyn Approver, tree: &Arc<Tree>) -> Self {
        Self { approver, tree: Arc::clone(tree), turn: Mutex::new(()) }
    }

    async fn in_turn(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let _turn = self.turn.lock().await;
        self.approver.decide(request).await
    }
}

#[async_trait]
impl Approver for OneAtATime<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let requested = self.tree.question(request);
        let decision = tokio::select! {
            biased;
            Ok(decision) = requested => Some((decision, Decider::command())),
            decision = self.in_turn(request) => decision,
        };
        self.tree.drop_question(&request.thread);
        decision
    }
}
