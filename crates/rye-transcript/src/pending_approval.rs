//! The call with which a suspended thread waits, and its children.

use serde::Deserialize;
use serde_json::Value;

use crate::spawn::disk::SpawnDisk;
use crate::{ApprovalReason, ApprovalRequest, Decision, Moment, Reading, Record, Spawn};

/// The call that a thread waits with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingApproval {
    /// The call.
    pub request: ApprovalRequest,
    /// The place of the record that asks about it, which tells it from every other call of the thread: what a call is called, and
    /// says, may come again.
    pub seq: u64,
}

/// The call that waits for a decision, as the transcript holds it; `None` when none does.
#[must_use]
pub fn pending_approval(reading: &Reading) -> Option<PendingApproval> {
    let record = pending(reading)?;
    Some(PendingApproval { request: request(record)?, seq: record.seq })
}

fn pending(reading: &Reading) -> Option<&Record> {
    let decisive = [
        "approval_requested",
        "approval_decided",
        "thread_complete",
        "thread_continued",
        "thread_error",
    ];
    let last = reading.records.iter().rev().find(|it| decisive.contains(&it.event.as_str()))?;
    (last.event == "approval_requested").then_some(last)
}

/// The decision on the call with which a thread waits, if nothing has happened since.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecidedApproval {
    /// The tool that was called.
    pub item_id: String,
    /// The decision.
    pub decision: Decision,
    /// The way of the decision, such as `command`.
    pub by: String,
    /// The time of the decision.
    pub at: Moment,
}

/// The decision that a thread has and did not act on yet, as the transcript holds it; `None` when there is none.
#[must_use]
pub fn decided_approval(reading: &Reading) -> Option<DecidedApproval> {
    let says_nothing = |it: &&Record| ["checkpoint", "thread_resumed"].contains(&it.event.as_str());
    let mut records = reading.records.iter().rev().skip_while(says_nothing);
    let last = records.next().filter(|record| record.event == "approval_decided")?;
    let DecidedWire { decision, by, reason } = serde_json::from_str(last.payload.get()).ok()?;
    let decision = Decision::read(&decision, reason.as_deref()).ok()?;
    let item_id = request(records.find(|record| record.event == "approval_requested")?)?.item_id;
    Some(DecidedApproval { item_id, decision, by, at: last.at })
}

/// The first decision on the call that the record at `seq` asks about; `None` while there is none.
#[must_use]
pub fn decision_on(reading: &Reading, seq: u64) -> Option<DecidedApproval> {
    let place = usize::try_from(seq).ok()?;
    let asked = reading.records.get(place).filter(|it| it.event == "approval_requested")?;
    let mut later = reading.records.iter().skip(place);
    let decided = later.find(|record| record.event == "approval_decided")?;
    let DecidedWire { decision, by, reason } = serde_json::from_str(decided.payload.get()).ok()?;
    let decision = Decision::read(&decision, reason.as_deref()).ok()?;
    Some(DecidedApproval { item_id: request(asked)?.item_id, decision, by, at: decided.at })
}

/// The children that a thread began or was about to, in their order, as its transcript holds them; `None` when one cannot be
/// read.
#[must_use]
pub fn spawned_children(reading: &Reading) -> Option<Vec<Spawn>> {
    let spawned = reading.records.iter().filter(|record| record.event == "spawn_child");
    let read = |record: &Record| {
        serde_json::from_str::<SpawnDisk>(record.payload.get()).ok()?.into_spawn().ok()
    };
    spawned.map(read).collect()
}

fn request(record: &Record) -> Option<ApprovalRequest> {
    let wire: Wire = serde_json::from_str(record.payload.get()).ok()?;
    let mut reasons = ApprovalReason::ALL.iter().copied();
    let reason = reasons.find(|reason| reason.as_str() == wire.reason)?;
    let Wire { call_id, item_id, arguments, arguments_sha256: sha256, covers, .. } = wire;
    let thread = record.thread.clone();
    Some(ApprovalRequest { thread, call_id, item_id, arguments, sha256, reason, covers })
}

#[derive(Deserialize)]
struct DecidedWire {
    decision: String,
    by: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Wire {
    call_id: String,
    item_id: String,
    arguments: Value,
    /// The record may hold less than the operator is asked about.
    arguments_sha256: String,
    reason: String,
    #[serde(default)]
    covers: Vec<String>,
}
