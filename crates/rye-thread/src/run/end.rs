//! The steps, inputs and ends of a run.

use rye_types::LimitHit;
use serde_json::{Map, Value};

use crate::{AddedItem, Failure, Refusal, Request, ToolCall, ToolResult};

/// The next task of the driver.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Step {
    /// Get a decision on the call and report it to [`Run::approval_decided`](crate::Run::approval_decided).
    AskApproval {
        /// Its index among the calls of [`Step::CallTools`].
        index: usize,
        /// The call.
        call: ToolCall,
    },
    /// Send the request and report the reply to [`Run::model_replied`](crate::Run::model_replied).
    CallModel(Request),
    /// Run the calls and report to [`Run::tools_returned`](crate::Run::tools_returned).
    CallTools {
        /// The calls to run, in the order of the reply. Empty if the model only returned outputs.
        calls: Vec<ToolCall>,
        /// The calls of `directive_return`, which the run answers itself.
        returns: Vec<ToolCall>,
    },
    /// Nothing: the run has ended.
    Done(End),
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// The operator or a hook stopped it.
    Cancelled,
    /// The model finished the directive.
    Completed {
        /// The outputs, if some were returned.
        outputs: Option<Map<String, Value>>,
        /// The last text. It may be empty.
        text: String,
    },
    /// Another thread continues the conversation.
    Continued,
    /// It failed.
    Failed(Failure),
}

/// The result of one call, with the facts that decide how the run ends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Returned {
    /// The result for the model.
    pub result: ToolResult,
    /// The refusal, if the authority or the tool refused the call.
    pub refusal: Option<Refusal>,
    /// The limit, if the call would start more threads than it allows.
    pub limit: Option<LimitHit>,
    /// The items that the call added to the conversation.
    pub added: Vec<AddedItem>,
}

impl Returned {
    /// Creates the result of an executed call.
    #[must_use]
    pub const fn ran(result: ToolResult) -> Self {
        Self { result, refusal: None, limit: None, added: Vec::new() }
    }

    /// Sets the items that the call added to the conversation.
    #[must_use]
    pub fn with_added(self, added: Vec<AddedItem>) -> Self {
        Self { added, ..self }
    }

    /// Creates the result of a refused call.
    #[must_use]
    pub const fn refusal(result: ToolResult, refusal: Refusal) -> Self {
        Self { result, refusal: Some(refusal), limit: None, added: Vec::new() }
    }

    /// Creates the result of a call that was not run because of a limit on threads.
    #[must_use]
    pub const fn limit(result: ToolResult, hit: LimitHit) -> Self {
        Self { result, refusal: None, limit: Some(hit), added: Vec::new() }
    }
}

/// A mistake of the driver: an input for which the run does not wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutOfTurn {
    /// The run waits for another input.
    #[error("{input} came while the run was `{state}`; do what `step` says and report that")]
    Input {
        /// The input.
        input: &'static str,
        /// The state of the transition table.
        state: &'static str,
    },
    /// The results do not match the calls.
    #[error("results for `{}` came where `{}` were called; report one result per call, in order", .given.join("`, `"), .called.join("`, `"))]
    WrongResults {
        /// The ids of the calls.
        called: Vec<String>,
        /// The ids of the results.
        given: Vec<String>,
    },
}
