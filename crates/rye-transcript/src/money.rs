//! The only rule about the money in records: the change that one makes to the account of its thread (SPEC 10.6).
//!
//! The writer applies it to an event, and the reader to the event of a record. A record with money that cannot be read is an error,
//! because to pass over it would widen a limit.

use rye_types::{Nanos, SpendLimit};

use crate::payload::StepFinish;
use crate::{Event, ThreadId};

/// One change of the account of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// The thread begins.
    Begin { cap: SpendLimit },
    /// A request is about to be sent. Its worst case costs `amount`.
    Reserve { amount: Nanos },
    /// The request ended.
    Settle { cost: Nanos },
    /// An attempt of the request ended. The worst case of the next attempt costs `amount`.
    Retry { cost: Nanos, amount: Nanos },
    /// A child is about to begin.
    Spawn { child: ThreadId, share: SpendLimit },
    /// A child has ended.
    EndChild { child: ThreadId, cost: Nanos, is_overrun: bool },
    /// Another thread continues the conversation.
    Continue { next: ThreadId, share: SpendLimit },
    /// The operator raised the limit.
    Raise { cap: SpendLimit },
}

impl Event {
    /// Returns the change that the record of the event makes to the account of its thread; `None` without money.
    pub(crate) fn money(&self) -> Option<Change> {
        Some(match self {
            Self::ThreadStart(start) => Change::Begin { cap: start.limits.spend },
            Self::StepStart(start) => Change::Reserve { amount: start.reserved },
            Self::StepFinish(finish) => finish.change(),
            Self::RequestFailed(failed) => Change::Settle { cost: failed.cost },
            Self::RequestRetried(again) => {
                Change::Retry { cost: again.cost, amount: again.reserved }
            }
            Self::SpawnChild(spawn) => {
                Change::Spawn { child: spawn.child.clone(), share: spawn.limits.spend }
            }
            Self::ChildEnded(end) => Change::EndChild {
                child: end.child.clone(),
                cost: end.cost,
                is_overrun: end.is_overrun,
            },
            Self::ThreadContinued(continued) => {
                Change::Continue { next: continued.next.clone(), share: continued.limits.spend }
            }
            Self::ThreadResumed(resumed) => Change::Raise { cap: resumed.limits.as_ref()?.spend },
            Self::ApprovalDecided(_)
            | Self::ApprovalRequested(_)
            | Self::AssistantReasoning(_)
            | Self::AssistantText(_)
            | Self::Checkpoint(_)
            | Self::ContextInjected(_)
            | Self::HookTriggered(_)
            | Self::ModelFallback(_)
            | Self::SystemPrompt(_)
            | Self::ThreadComplete(_)
            | Self::ThreadError(_)
            | Self::ToolCallResult(_)
            | Self::ToolCallStart(_)
            | Self::UserMessage(_) => return None,
        })
    }
}

impl<R> StepFinish<R> {
    /// Returns the change that the record of the reply makes. The reply itself does not matter.
    pub(crate) const fn change(&self) -> Change {
        Change::Settle { cost: self.cost }
    }
}

impl Change {
    /// Returns `true` if the change counts only under a checkpoint of its own.
    pub(crate) const fn needs_seal(&self) -> bool {
        matches!(self, Self::Raise { .. })
    }
}
