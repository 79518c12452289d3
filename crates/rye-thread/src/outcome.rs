//! The result of driving a thread.

use rye_types::{Nanos, ThreadState, Usage};
use serde_json::{Map, Value};

use crate::{ApprovalRequest, Failure, ThreadId, TranscriptClaim};

/// The result of driving a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// `Completed`, `Error`, `Cancelled` or `Continued` for an end.
    ///
    /// `Suspended` with an approval to decide, and `Running` after an interruption. [`resume`](crate::resume) continues
    /// both.
    pub state: ThreadState,
    /// The call that waits for approval. It is `Some` exactly in state `Suspended`.
    pub asked: Option<ApprovalRequest>,
    /// The returned outputs. `None` is an error only if outputs are required.
    pub outputs: Option<Map<String, Value>>,
    /// The last text of the model. It may be empty.
    pub text: String,
    /// The number of answered requests.
    pub turns: u64,
    /// Tokens of all answered requests.
    pub usage: Usage,
    /// The cost of the thread and all its descendants, failed requests included.
    pub cost: Nanos,
    /// The failure in state `Error`.
    ///
    /// In state `Running`, the failure to write. [`resume`](crate::resume) tries the write again.
    pub failure: Option<Failure>,
    /// The successor. It is `Some` exactly in state `Continued`, and the caller starts it.
    pub continued_by: Option<ThreadId>,
    /// The claim of `thread.json` about the transcript, once the record holds the end.
    pub transcript: Option<TranscriptClaim>,
    /// Problems that did not stop the thread, such as an incomplete readable transcript.
    pub warnings: Vec<String>,
}
