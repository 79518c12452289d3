//! The changes that records make to the account of their thread (SPEC 10.6).

use rye_types::{Nanos, SpendLimit};

use crate::ThreadId;
use crate::payload::StepFinish;

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
