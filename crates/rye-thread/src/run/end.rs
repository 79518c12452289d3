//! What a run asks of its driver, takes from it, and ends with.

use serde_json::{Map, Value};

use crate::{AddedItem, Failure, LimitHit, Refusal, Request, ToolCall, ToolResult};

/// What the driver is to do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Step {
    /// Have somebody decide on the call and report to [`Run::decided`](crate::Run::decided).
    AskApproval {
        /// Its place among the calls of [`Step::CallTools`].
        index: usize,
        /// The call.
        call: ToolCall,
    },
    /// Send the request and report the answer to [`Run::model_replied`](crate::Run::model_replied).
    CallModel(Request),
    /// Run the calls and report to [`Run::tools_returned`](crate::Run::tools_returned).
    CallTools {
        /// The calls to run, in the order that the model made them; none when it only returned outputs.
        calls: Vec<ToolCall>,
        /// The calls of `directive_return`, which the run answers itself.
        returns: Vec<ToolCall>,
    },
    /// Nothing more.
    Done(End),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// Somebody stopped it.
    Cancelled,
    /// The model did what it was asked.
    Completed {
        /// The outputs, where some were returned.
        outputs: Option<Map<String, Value>>,
        /// The last text, may be empty.
        text: String,
    },
    /// Another thread goes on with the conversation.
    Continued,
    /// It failed.
    Failed(Failure),
}

/// What one call came to, for the history and for the blame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Returned {
    /// What the model is told.
    pub result: ToolResult,
    /// Set when the call was refused, by the authority or by the tool.
    pub refusal: Option<Refusal>,
    /// Set when the call wanted a thread more than a limit allows.
    pub limit: Option<LimitHit>,
    /// The items that the call added to the conversation.
    pub added: Vec<AddedItem>,
}

impl Returned {
    /// A call that was run.
    #[must_use]
    pub const fn ran(result: ToolResult) -> Self {
        Self { result, refusal: None, limit: None, added: Vec::new() }
    }

    /// The same call, which added these items to the conversation.
    #[must_use]
    pub fn with_added(self, added: Vec<AddedItem>) -> Self {
        Self { added, ..self }
    }

    /// A call that was refused.
    #[must_use]
    pub const fn refused(result: ToolResult, refusal: Refusal) -> Self {
        Self { result, refusal: Some(refusal), limit: None, added: Vec::new() }
    }

    /// A call that was not run because it wants a thread more than a limit allows.
    #[must_use]
    pub const fn limited(result: ToolResult, hit: LimitHit) -> Self {
        Self { result, refusal: None, limit: Some(hit), added: Vec::new() }
    }
}

/// A driver's mistake: something was reported that the run does not wait for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutOfTurn {
    /// The run waits for something else.
    #[error("{input} came while the run was `{state}`; do what `step` says and report that")]
    Input {
        /// What was reported.
        input: &'static str,
        /// The state of the transition table.
        state: &'static str,
    },
    /// The results are not those of the calls.
    #[error("results for `{}` came where `{}` were called; report one result per call, in order", .given.join("`, `"), .called.join("`, `"))]
    WrongResults {
        /// The ids of the calls.
        called: Vec<String>,
        /// The ids of the results.
        given: Vec<String>,
    },
}
