//! The change that one record makes to the money of its thread.

use std::collections::BTreeMap;

use rye_types::{Nanos, SpendLimit};

use super::disk::{ContinuedDisk, CostDisk, LimitedDisk, ReservedDisk, RetriedDisk};
use crate::child_end::ChildEndDisk;
use crate::json::Shown;
use crate::spawn::disk::SpawnDisk;
use crate::{ChildEnd, Event, Reading, Record, ThreadId};

/// One change of the account of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
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
    pub(super) fn of_event(event: &Event) -> Option<Self> {
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

    /// Reads the change from a stored record, like [`Change::of_event`]. Raised limits count only under their own
    /// checkpoint.
    pub(super) fn of_record(record: &Record, is_sealed: bool) -> Option<Self> {
        Some(match record.event.as_str() {
            "thread_start" => {
                let LimitedDisk { limits } = record.payload_as().ok()?;
                Self::Begin { cap: limits?.into_limits().spend }
            }
            "step_start" => {
                let ReservedDisk { reserved_nanos } = record.payload_as().ok()?;
                Self::Reserve { amount: Nanos::new(reserved_nanos) }
            }
            "step_finish" | "request_failed" => {
                let CostDisk { cost_nanos } = record.payload_as().ok()?;
                Self::Settle { cost: Nanos::new(cost_nanos) }
            }
            "request_retried" => {
                let RetriedDisk { cost_nanos, reserved_nanos } = record.payload_as().ok()?;
                Self::Retry { cost: Nanos::new(cost_nanos), amount: Nanos::new(reserved_nanos) }
            }
            "spawn_child" => {
                let spawn = record.payload_as::<SpawnDisk>().ok()?.into_spawn();
                Self::Spawn { child: spawn.child, share: spawn.limits.spend }
            }
            "child_ended" => Self::of_end(child_end(record)?),
            "thread_continued" => {
                let ContinuedDisk { next: Shown(next), limits } = record.payload_as().ok()?;
                Self::Continue { next, share: limits.into_limits().spend }
            }
            "thread_resumed" if is_sealed => {
                let LimitedDisk { limits } = record.payload_as().ok()?;
                Self::Raise { cap: limits?.into_limits().spend }
            }
            _ => return None,
        })
    }

    fn of_end(end: ChildEnd) -> Self {
        Self::EndChild { child: end.child, cost: end.cost, is_overrun: end.is_overrun }
    }
}

/// Returns the ends of children that the transcript of a thread records.
#[must_use]
pub fn ended_children(thread: &Reading) -> BTreeMap<ThreadId, ChildEnd> {
    let ended = thread.records.iter().filter(|record| record.event == "child_ended");
    ended.filter_map(child_end).map(|end| (end.child.clone(), end)).collect()
}

fn child_end(record: &Record) -> Option<ChildEnd> {
    record.payload_as().ok().map(ChildEndDisk::into_end)
}
