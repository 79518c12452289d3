//! The only rule about the money in records: the change that one makes to the account of its thread (SPEC 10.6).
//!
//! The writer applies it to an event, and the reader to the payload of the event's record. A record with money that cannot be read is
//! an error, because to pass over it would widen a limit.

use rye_types::{Nanos, SpendLimit};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::child_end::ChildEndDisk;
use crate::failure::disk::LimitsDisk;
use crate::json::Shown;
use crate::spawn::disk::SpawnDisk;
use crate::{ChildEnd, Event, ThreadId};

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

impl Change {
    pub(crate) fn of_event(event: &Event) -> Option<Self> {
        Some(match event {
            Event::ThreadStart { limits, .. } => Self::Begin { cap: limits.spend },
            Event::StepStart { reserved, .. } => Self::Reserve { amount: *reserved },
            Event::StepFinish { cost, .. } | Event::RequestFailed { cost, .. } => {
                Self::Settle { cost: *cost }
            }
            Event::RequestRetried { cost, reserved, .. } => {
                Self::Retry { cost: *cost, amount: *reserved }
            }
            Event::SpawnChild(spawn) => {
                Self::Spawn { child: spawn.child.clone(), share: spawn.limits.spend }
            }
            Event::ChildEnded(end) => Self::of_end(end.clone()),
            Event::ThreadContinued { next, limits, .. } => {
                Self::Continue { next: next.clone(), share: limits.spend }
            }
            Event::ThreadResumed { limits: Some(limits), .. } => Self::Raise { cap: limits.spend },
            _ => return None,
        })
    }

    /// Reads the change from the payload of a record of this event, like [`Change::of_event`]. `None` for an event without money.
    ///
    /// # Errors
    ///
    /// The reason in words, if the event has money that cannot be read.
    pub(crate) fn of_payload(event: &str, payload: &RawValue) -> Result<Option<Self>, String> {
        Ok(Some(match event {
            "thread_start" => {
                let LimitedDisk { limits } = read(payload)?;
                let Some(limits) = limits else { return Ok(None) };
                Self::Begin { cap: limits.into_limits().spend }
            }
            "step_start" => {
                let ReservedDisk { reserved_nanos } = read(payload)?;
                Self::Reserve { amount: Nanos::new(reserved_nanos) }
            }
            "step_finish" | "request_failed" => {
                let CostDisk { cost_nanos } = read(payload)?;
                Self::Settle { cost: Nanos::new(cost_nanos) }
            }
            "request_retried" => {
                let RetriedDisk { cost_nanos, reserved_nanos } = read(payload)?;
                Self::Retry { cost: Nanos::new(cost_nanos), amount: Nanos::new(reserved_nanos) }
            }
            "spawn_child" => {
                let spawn = read::<SpawnDisk>(payload)?.into_spawn();
                Self::Spawn { child: spawn.child, share: spawn.limits.spend }
            }
            "child_ended" => Self::of_end(read::<ChildEndDisk>(payload)?.into_end()),
            "thread_continued" => {
                let ContinuedDisk { next: Shown(next), limits } = read(payload)?;
                Self::Continue { next, share: limits.into_limits().spend }
            }
            "thread_resumed" => {
                let LimitedDisk { limits } = read(payload)?;
                let Some(limits) = limits else { return Ok(None) };
                Self::Raise { cap: limits.into_limits().spend }
            }
            _ => return Ok(None),
        }))
    }

    /// Returns `true` if the change counts only under a checkpoint of its own.
    pub(crate) const fn needs_seal(&self) -> bool {
        matches!(self, Self::Raise { .. })
    }

    fn of_end(end: ChildEnd) -> Self {
        Self::EndChild { child: end.child, cost: end.cost, is_overrun: end.is_overrun }
    }
}

fn read<T: DeserializeOwned>(payload: &RawValue) -> Result<T, String> {
    serde_json::from_str(payload.get()).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct ContinuedDisk {
    next: Shown<ThreadId>,
    limits: LimitsDisk,
}

#[derive(Deserialize)]
struct CostDisk {
    cost_nanos: u64,
}

#[derive(Deserialize)]
pub(crate) struct LimitedDisk {
    pub(crate) limits: Option<LimitsDisk>,
}

#[derive(Deserialize)]
struct ReservedDisk {
    reserved_nanos: u64,
}

#[derive(Deserialize)]
struct RetriedDisk {
    cost_nanos: u64,
    reserved_nanos: u64,
}
