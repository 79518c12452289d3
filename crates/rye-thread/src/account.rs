//! The money of a thread tree, computed from its transcripts alone (SPEC 10.6).
//!
//! A request counts as what its answer cost, and as its whole reservation while no record ends it. A child counts as the cost in
//! its `child_ended`; before that its whole share is taken, and its own transcript says how much of it was spent.

pub(crate) mod disk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use self::disk::{ChildEndDisk, ContinuedDisk, StepDisk, payload};
use crate::children::Spawn;
use crate::drive::{recorded_limits, spawned_children, spending};
use crate::transcript::Reading;
use crate::{Nanos, SpendLimit, ThreadId, ThreadState};

/// The end of a child, as its parent records it once it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildEnd {
    /// The child; of a conversation its first thread.
    pub child: ThreadId,
    /// How it ended.
    pub state: ThreadState,
    /// What it and all below it cost.
    pub cost: Nanos,
    /// How many records its transcript has; of a conversation that of its last thread.
    pub records: u64,
    /// The hash of these records.
    pub head: String,
}

impl ChildEnd {
    /// The end of a child.
    #[must_use]
    pub fn new(
        child: ThreadId,
        state: ThreadState,
        cost: Nanos,
        (records, head): (u64, String),
    ) -> Self {
        Self { child, state, cost, records, head }
    }
}

/// The transcript of a thread, as a reader of its tree finds it.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a transcript is there, or not, or cannot be relied on"
)]
pub enum FoundTranscript<'a> {
    /// The thread has none, because it did not begin yet.
    Absent,
    /// It was changed, or cannot be read.
    Unreadable,
    /// It is verified.
    Transcript(Cow<'a, Reading>),
}

/// What a thread, the threads that continue its conversation and all below them have spent and hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The most that the thread may spend.
    pub cap: SpendLimit,
    /// What was charged at the most.
    pub cost: Nanos,
    /// What is kept back beside that for children that have not ended.
    pub held: Nanos,
    /// Whether more was charged than reserved, which leaves nothing free.
    pub is_overrun: bool,
}

impl Account {
    /// Computes the account of the thread from its transcript and those of its children that have no `child_ended`.
    ///
    /// # Errors
    ///
    /// When a child without a limit has no transcript that can be relied on, so that nothing bounds its cost; or when threads
    /// stand below themselves, or too deep.
    pub fn from_transcripts<'a>(
        thread: &'a Reading,
        read: &dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    ) -> Result<Self, AccountError> {
        let limits = recorded_limits(thread);
        let cap = limits.map_or(SpendLimit::Unlimited, |recorded| recorded.last.spend);
        let mut fold = Fold { read, seen: BTreeSet::new() };
        let Sum { cost, held, is_overrun } = fold.conversation(Cow::Borrowed(thread), 0)?;
        Ok(Self { cap, cost, held, is_overrun: is_overrun || over(cap, cost) })
    }

    /// What can still be reserved; `None` without a limit.
    #[must_use]
    pub fn free(&self) -> Option<Nanos> {
        match self.cap {
            SpendLimit::Unlimited => None,
            SpendLimit::AtMost(_) if self.is_overrun => Some(Nanos::ZERO),
            SpendLimit::AtMost(cap) => {
                Some(cap.saturating_sub(self.cost.saturating_add(self.held)))
            }
        }
    }
}

/// Why an account cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The threads stand below themselves, or deeper than any limit allows.
    #[error("thread `{thread}` stands below itself or too deep, so its cost cannot be computed")]
    Circle {
        /// The thread.
        thread: ThreadId,
    },
    /// Nothing bounds what the thread has cost.
    #[error(
        "the transcript of `{thread}` cannot be read, and it had no spend limit, so its cost is not known; restore `.ai/threads/{thread}` or start the directive again"
    )]
    Unbounded {
        /// The thread.
        thread: ThreadId,
    },
}

/// The deepest tree that is read; limits on depth are far lower.
const DEEPEST: usize = 64;

struct Fold<'a, 'r> {
    read: &'r dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    seen: BTreeSet<ThreadId>,
}

#[derive(Default)]
struct Sum {
    cost: Nanos,
    held: Nanos,
    is_overrun: bool,
}

impl Sum {
    fn spend(&mut self, cost: Nanos) {
        self.cost = self.cost.saturating_add(cost);
    }

    fn hold(&mut self, held: Nanos) {
        self.held = self.held.saturating_add(held);
    }

    /// Adds a thread whose transcript cannot be relied on: it may have spent all that it was given.
    fn spend_all(&mut self, thread: &ThreadId, share: SpendLimit) -> Result<(), AccountError> {
        match share {
            SpendLimit::AtMost(share) => self.spend(share),
            SpendLimit::Unlimited => {
                return Err(AccountError::Unbounded { thread: thread.clone() });
            }
        }
        Ok(())
    }
}

impl<'a> Fold<'a, '_> {
    /// A thread and those that continue its conversation.
    fn conversation(&mut self, first: Cow<'a, Reading>, depth: usize) -> Result<Sum, AccountError> {
        let (mut sum, mut thread) = (Sum::default(), first);
        loop {
            self.thread(&thread, depth, &mut sum)?;
            let last = thread.records.iter().rev().find(|it| it.event == "thread_continued");
            let Some(next) = last.and_then(payload::<ContinuedDisk>) else { return Ok(sum) };
            let (next, share) = (next.next, next.limits.into_limits().spend);
            let Ok(next) = next.parse::<ThreadId>() else { return Ok(sum) };
            match (self.read)(&next) {
                FoundTranscript::Absent => return Ok(sum),
                FoundTranscript::Unreadable => {
                    sum.spend_all(&next, share)?;
                    return Ok(sum);
                }
                FoundTranscript::Transcript(found) => thread = found,
            }
        }
    }

    fn thread(
        &mut self,
        thread: &Reading,
        depth: usize,
        sum: &mut Sum,
    ) -> Result<(), AccountError> {
        let Some(id) = thread.records.first().map(|record| &record.thread) else { return Ok(()) };
        if DEEPEST < depth || !self.seen.insert(id.clone()) {
            return Err(AccountError::Circle { thread: id.clone() });
        }
        sum.spend(spending(thread).at_most());
        sum.is_overrun |= has_overrun(thread);
        let ended = ended_children(thread);
        for spawn in spawned_children(thread).unwrap_or_default() {
            match ended.get(&spawn.child) {
                Some(end) => {
                    sum.spend(end.cost);
                    sum.is_overrun |= over(spawn.limits.spend, end.cost);
                }
                None => self.child(&spawn, depth, sum)?,
            }
        }
        Ok(())
    }

    /// A child that has no end in its parent, whose whole share is taken.
    fn child(&mut self, spawn: &Spawn, depth: usize, sum: &mut Sum) -> Result<(), AccountError> {
        let share = match spawn.limits.spend {
            SpendLimit::AtMost(share) => share,
            SpendLimit::Unlimited => Nanos::ZERO,
        };
        match (self.read)(&spawn.child) {
            FoundTranscript::Absent => sum.hold(share),
            FoundTranscript::Unreadable => sum.spend_all(&spawn.child, spawn.limits.spend)?,
            FoundTranscript::Transcript(child) => {
                let child = self.conversation(child, depth + 1)?;
                sum.spend(child.cost);
                match spawn.limits.spend {
                    SpendLimit::AtMost(_) => sum.hold(share.saturating_sub(child.cost)),
                    SpendLimit::Unlimited => sum.hold(child.held),
                }
                sum.is_overrun |= child.is_overrun || over(spawn.limits.spend, child.cost);
            }
        }
        Ok(())
    }
}

/// The ends of children that a thread has recorded.
#[must_use]
pub fn ended_children(thread: &Reading) -> BTreeMap<ThreadId, ChildEnd> {
    let ended = thread.records.iter().filter(|record| record.event == "child_ended");
    let read = |record| payload::<ChildEndDisk>(record)?.into_end().ok();
    ended.filter_map(read).map(|end: ChildEnd| (end.child.clone(), end)).collect()
}

fn over(cap: SpendLimit, cost: Nanos) -> bool {
    matches!(cap, SpendLimit::AtMost(cap) if cap < cost)
}

/// Whether a provider charged more for a request than was reserved for it.
fn has_overrun(thread: &Reading) -> bool {
    let mut reserved = Nanos::ZERO;
    thread.records.iter().any(|record| {
        let is_step = ["request_failed", "request_retried", "step_finish", "step_start"]
            .contains(&record.event.as_str());
        let Some(step) = Some(record).filter(|_| is_step).and_then(payload::<StepDisk>) else {
            return false;
        };
        let is_over = step.cost_nanos.is_some_and(|cost| reserved < Nanos::new(cost));
        reserved = step.reserved_nanos.map_or(Nanos::ZERO, Nanos::new);
        is_over
    })
}

#[cfg(test)]
mod tests;
