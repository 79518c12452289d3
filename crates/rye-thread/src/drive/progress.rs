//! The progress of a turn that has calls.

use rye_types::LimitHit;
use serde_json::Value;

use crate::{ApprovalRequest, Returned, Spawn};

/// The progress of the calls of a turn, kept during an approval wait and restored from the
/// transcript.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The results of the first calls, each of which has its receipt.
    pub(super) answers: Vec<Returned>,
    /// The number of calls with a recorded intent. Calls that return outputs come after all others.
    pub(super) intents: usize,
    /// `true` if it is on record that the next call waits for an approval.
    pub(super) is_asked: bool,
    /// The arguments of the next call as the operator was asked about them, once that is on record.
    pub(super) proposal: Option<Proposal>,
    /// The child that the next call wants, once that is on record.
    pub(super) spawned: Option<Spawn>,
}

/// The arguments of a question, as the record holds them.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    /// May be less than the operator was shown.
    pub(super) arguments: Value,
    /// The digest of those that the operator was shown.
    pub(super) sha256: String,
}

impl Proposal {
    pub(super) fn of(request: &ApprovalRequest) -> Self {
        Self { arguments: request.arguments.clone(), sha256: request.sha256.clone() }
    }

    /// The arguments that the operator was shown: those of the call, or else those on record, where the record holds them whole.
    pub(super) fn shown_arguments<'a>(&'a self, of_call: &'a Value) -> Option<&'a Value> {
        [of_call, &self.arguments]
            .into_iter()
            .find(|arguments| ApprovalRequest::digest(arguments) == self.sha256)
    }
}

impl Progress {
    /// The limits that kept calls from starting threads.
    pub(super) fn spawn_limits(&self) -> Vec<LimitHit> {
        self.answers.iter().filter_map(|answer| answer.limit.clone()).collect()
    }
}
