//! One question at a time, however many threads have one.

use async_trait::async_trait;
use rye_thread::{ApprovalRequest, Approver, Decision};
use tokio::sync::Mutex;

/// Asks somebody who can only think about one call.
pub(super) struct OneAtATime<'a> {
    approver: &'a dyn Approver,
    turn: Mutex<()>,
}

impl<'a> OneAtATime<'a> {
    pub(super) fn new(approver: &'a dyn Approver) -> Self {
        Self { approver, turn: Mutex::new(()) }
    }
}

#[async_trait]
impl Approver for OneAtATime<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Option<Decision> {
        let _turn = self.turn.lock().await;
        self.approver.decide(request).await
    }
}
