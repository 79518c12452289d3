//! How a thread ends.

pub(crate) mod disk;

use std::fmt;
use std::str::FromStr;

use rye_caps::Denied;
use serde_json::{Map, Value};

use crate::{
    ApprovalRequest, Limit, LimitHit, Nanos, ProviderErrorClass, ThreadId, TranscriptClaim, Usage,
};

/// Where a thread is in its life (SPEC 10.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadState {
    /// Somebody stopped it.
    Cancelled,
    /// It did what it was asked.
    Completed,
    /// Another thread goes on with its conversation.
    Continued,
    /// It has a folder and has sent nothing yet.
    Created,
    /// It failed.
    Error,
    /// It is under way, or its program was stopped or killed in the middle and somebody may resume it.
    Running,
    /// It waits for somebody to approve a call.
    Suspended,
}

impl ThreadState {
    /// All of them, sorted by name.
    pub const ALL: [Self; 7] = [
        Self::Cancelled,
        Self::Completed,
        Self::Continued,
        Self::Created,
        Self::Error,
        Self::Running,
        Self::Suspended,
    ];

    /// Whether nothing more will happen in it, unless the operator resumes a thread that was stopped
    /// ([`FailureKind::may_go_on`]).
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Continued | Self::Error)
    }

    /// The lower case name that `thread.json` and the registry hold.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
            Self::Continued => "continued",
            Self::Created => "created",
            Self::Error => "error",
            Self::Running => "running",
            Self::Suspended => "suspended",
        }
    }
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ThreadState {
    type Err = ThreadStateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| ThreadStateError { text: text.to_owned() })
    }
}

/// A word that names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "`{text}` is not a thread state; use `cancelled`, `completed`, `continued`, `created`, `error`, `running` or `suspended`"
)]
pub struct ThreadStateError {
    /// The word.
    pub text: String,
}

/// What became of a driven thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// `Completed`, `Error`, `Cancelled` or `Continued`; `Suspended` with an approval to decide on, and `Running` after an interruption,
    /// when [`resume`](crate::resume) can go on.
    pub state: ThreadState,
    /// The call that waits for somebody, exactly in state `Suspended`.
    pub asked: Option<ApprovalRequest>,
    /// What was returned; `None` when nothing was, which is fine where nothing is required.
    pub outputs: Option<Map<String, Value>>,
    /// The last text that the model wrote, may be empty.
    pub text: String,
    /// Requests that were answered.
    pub turns: u64,
    /// Tokens of all answered requests.
    pub usage: Usage,
    /// The cost of the thread with all below it, failed requests included.
    pub cost: Nanos,
    /// Why it failed, in state `Error`; in state `Running`, what could not be written, which [`resume`](crate::resume) tries again.
    pub failure: Option<Failure>,
    /// The thread that goes on, exactly in state `Continued`; whoever drove this one begins it.
    pub continued_by: Option<ThreadId>,
    /// What `thread.json` claims of the transcript, once that says how the thread ended.
    pub transcript: Option<TranscriptClaim>,
    /// What somebody should know although the thread went on, such as that its readable transcript is not whole.
    pub warnings: Vec<String>,
}

/// Why a thread failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What sort of failure it was.
    pub kind: FailureKind,
    /// A lowercase fragment that says what happened and what to do.
    pub message: String,
}

impl Failure {
    /// A failure of this sort.
    #[must_use]
    pub fn new(kind: FailureKind, message: &str) -> Self {
        Self { kind, message: message.to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The sorts of failure of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The model's last answer is not whole.
    CutOff,
    /// A hook ended it.
    Hook,
    /// A limit was reached (SPEC 10.5), money included.
    Limit(LimitHit),
    /// Required outputs were not returned, even when asked for.
    MissingOutputs,
    /// The run was driven before.
    OutOfTurn,
    /// The thread could not begin; the caller says why.
    Preparation,
    /// The model could not be asked.
    Provider(ProviderErrorClass),
    /// A call was refused, and the run did not get over it.
    Refused,
    /// What must be on disk could not be written, or the lock of the thread tree was replaced. No thread ends by it.
    Storage,
    /// The model has no price and spending is limited (SPEC 10.6).
    Unpriced,
}

impl FailureKind {
    /// The snake case name that transcript and `thread.json` hold; limits and provider classes have theirs beside it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::Hook => "hook",
            Self::Limit(_) => "limit",
            Self::MissingOutputs => "missing_outputs",
            Self::OutOfTurn => "out_of_turn",
            Self::Preparation => "preparation",
            Self::Provider(_) => "provider",
            Self::Refused => "refused",
            Self::Storage => "storage",
            Self::Unpriced => "unpriced",
        }
    }

    /// Returns `true` if the operator can have a thread go on that ended so: by a limit that can be raised, or by a failure of its
    /// provider (SPEC D18).
    #[must_use]
    pub const fn may_go_on(&self) -> bool {
        match self {
            Self::Limit(hit) => {
                matches!(hit.limit, Limit::Duration | Limit::Spend | Limit::Tokens | Limit::Turns)
            }
            // The same step fails again, because its result is on record.
            Self::Provider(class) => !matches!(class, ProviderErrorClass::StepFailed),
            _ => false,
        }
    }

    /// Whether a refused call earlier in the run may be what led here.
    pub(crate) const fn may_follow_from_refusal(&self) -> bool {
        matches!(
            self,
            Self::CutOff
                | Self::Limit(_)
                | Self::MissingOutputs
                | Self::Provider(
                    ProviderErrorClass::StepFailed | ProviderErrorClass::ContentRefused
                )
        )
    }
}

/// A tool call that was not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The capability that was asked for.
    pub capability: String,
    /// The layer of the authority that said no, or `tool` for a tool's own confinement.
    pub layer: String,
    /// The smallest pattern that would allow it; a tool's confinement has none.
    pub pattern: Option<String>,
    /// What the model was told.
    pub message: String,
}

impl Refusal {
    pub(crate) fn of_authority(denied: &Denied) -> Self {
        Self {
            capability: denied.item.as_ref().unwrap_or(&denied.capability).to_string(),
            layer: denied.layer.to_string(),
            pattern: Some(denied.smallest.to_string()),
            message: denied.to_string(),
        }
    }

    pub(crate) fn of_tool(capability: &str, message: &str) -> Self {
        Self {
            capability: capability.to_owned(),
            layer: "tool".to_owned(),
            pattern: None,
            message: message.to_owned(),
        }
    }
}
