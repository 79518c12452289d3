//! Recorded answers, receipts and decisions, each given out once and in order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::drive::hooks::{Entry, Frame};
use crate::drive::recover::Recorded;
use crate::transcript::Reading;
use crate::{
    ApprovalRequest, Approver, Decision, Failure, FailureKind, ProviderError, ProviderErrorClass,
    Reply, Returned, ToolCall, ToolResult,
};

/// What a transcript holds of the world outside the run.
#[derive(Debug)]
pub(in crate::drive) struct Tape {
    left: Mutex<Left>,
    turns: u64,
    is_complete: bool,
}

#[derive(Debug, Default)]
struct Left {
    replies: VecDeque<Result<Reply, ProviderError>>,
    receipts: VecDeque<Returned>,
    decisions: VecDeque<Decision>,
}

impl Tape {
    pub(super) fn of(reading: &Reading) -> Self {
        let (mut left, mut is_complete, mut is_again) = (Left::default(), false, false);
        let (mut evaluation, mut turns) = (0, 0);
        for record in &reading.records {
            match Recorded::read(record) {
                Ok(Recorded::StepFinish { reply, .. }) => {
                    turns += 1;
                    left.replies.push_back(Ok(reply.into_reply()));
                }
                Ok(Recorded::Hook(Entry::Triggered(frame))) => {
                    if evaluation < frame.evaluation {
                        evaluation = frame.evaluation;
                        left.replies.extend(failed(&frame).map(Err));
                    }
                }
                Ok(Recorded::Hook(Entry::Result { returned, .. })) => {
                    left.receipts.push_back(returned);
                }
                Ok(Recorded::CallResult { result, refusal }) => {
                    let refusal = refusal.map(crate::outcome::disk::RefusalDisk::into_refusal);
                    left.receipts.push_back(Returned { result: result.into_result(), refusal });
                }
                // A replay is not killed, so that nobody is asked about a call that was.
                Ok(Recorded::Asked { .. }) => is_again = record.payload.get().contains(INTERRUPTED),
                Ok(Recorded::Decided { decision }) if !is_again => {
                    left.decisions.push_back(decision)
                }
                _ => {
                    is_complete |=
                        ["thread_complete", "thread_continued"].contains(&record.event.as_str())
                }
            }
        }
        Self { left: Mutex::new(left), turns, is_complete }
    }

    pub(super) const fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether the thread did what it was asked, so that nothing of a replay may come after it.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn reply(&self) -> Result<Reply, ProviderError> {
        let over = "the record holds no further answer";
        let next = self.left().replies.pop_front();
        next.unwrap_or_else(|| Err(ProviderError::new(ProviderErrorClass::InvalidRequest, over)))
    }

    /// What the call came to when it was run, or `computed` where it is not run now; either way its receipt is used up.
    pub(in crate::drive) fn receipt(
        &self,
        call: &ToolCall,
        computed: Option<Returned>,
    ) -> Returned {
        let receipt = self.left().receipts.pop_front();
        computed.unwrap_or_else(|| {
            let none = || ToolResult::error(call, serde_json::json!({ "error": NO_RECEIPT }));
            receipt.unwrap_or_else(|| Returned::ran(none()))
        })
    }

    /// The run answers calls that return outputs by itself.
    pub(in crate::drive) fn skip_receipts(&self, count: usize) {
        let mut left = self.left();
        let count = count.min(left.receipts.len());
        left.receipts.drain(..count);
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that failed is on record where a hook was told of it.
fn failed(frame: &Frame) -> Option<ProviderError> {
    match &frame.failure {
        Some(Failure { kind: FailureKind::Provider(class), message }) if frame.is_final => {
            Some(ProviderError::new(*class, message.as_str()))
        }
        _ => None,
    }
}

#[async_trait]
impl Approver for Tape {
    async fn decide(&self, _: &ApprovalRequest) -> Option<Decision> {
        self.left().decisions.pop_front()
    }
}

const INTERRUPTED: &str = r#""reason":"interrupted""#;
const NO_RECEIPT: &str = "the record holds no receipt of this call";
