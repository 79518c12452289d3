//! The call with which a suspended thread waits, and its children.

use rye_types::Moment;

use crate::{ApprovalRequest, Decision, Event, EventKind, Reading, Record, Spawn};

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
    let decides = |record: &&Record| {
        record.kind.is_end()
            || matches!(record.kind, EventKind::ApprovalRequested | EventKind::ApprovalDecided)
    };
    let last = reading.records.iter().rev().find(decides)?;
    (last.kind == EventKind::ApprovalRequested).then_some(last)
}

/// The decision on the call with which a thread waits, if nothing has happened since.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecidedApproval {
    /// The tool that was called.
    pub item_id: String,
    /// The reason why the call waited, in the words of [`ApprovalRequest::why`].
    pub why: String,
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
    let says_nothing = |it: &&Record| match it.kind {
        EventKind::Checkpoint | EventKind::ThreadResumed => true,
        EventKind::Unknown => !it.is_foreign(),
        _ => false,
    };
    let mut records = reading.records.iter().rev().skip_while(says_nothing);
    let last = records.next().filter(|record| record.kind == EventKind::ApprovalDecided)?;
    decision(records.find(|record| record.kind == EventKind::ApprovalRequested)?, last)
}

/// The first decision on the call that the record at `seq` asks about; `None` while there is none.
#[must_use]
pub fn decision_on(reading: &Reading, seq: u64) -> Option<DecidedApproval> {
    let place = usize::try_from(seq).ok()?;
    let asked = reading.records.get(place).filter(|it| it.kind == EventKind::ApprovalRequested)?;
    let mut later = reading.records.iter().skip(place);
    decision(asked, later.find(|record| record.kind == EventKind::ApprovalDecided)?)
}

/// The children that a thread began or was about to, in their order, as its transcript holds them; `None` when one cannot be
/// read.
#[must_use]
pub fn spawned_children(reading: &Reading) -> Option<Vec<Spawn>> {
    let read = |record: &Record| match record.event() {
        Ok(Event::SpawnChild(spawn)) => Some(spawn),
        _ => None,
    };
    reading.of_kind(EventKind::SpawnChild).map(read).collect()
}

fn request(record: &Record) -> Option<ApprovalRequest> {
    match record.event() {
        Ok(Event::ApprovalRequested(asked)) => Some(asked.of_thread(&record.thread)),
        _ => None,
    }
}

/// Returns the decision that the second record holds on the request in the first.
fn decision(asked: &Record, decided: &Record) -> Option<DecidedApproval> {
    let request = request(asked)?;
    match decided.event() {
        Ok(Event::ApprovalDecided(it)) if it.call_id == request.call_id => Some(DecidedApproval {
            why: request.why(),
            item_id: request.item_id,
            decision: it.decision,
            by: it.by,
            at: decided.at,
        }),
        _ => None,
    }
}
