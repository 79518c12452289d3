//! Child threads, as their parent sees them (SPEC 10.9).

use std::time::Duration;

use async_trait::async_trait;
use rye_types::LimitSet;
use serde_json::Value;

use crate::{AddedItem, ApprovalRequest, ChildEnd, Spawn, ToolOutput};

/// The supervisor of the children of one thread. [`drive`](crate::drive) says when it is called.
///
/// The implementation keeps a child within its parent: a narrowed authority, and the limits of the [`SpawnRequest`] as
/// caps. The money of the child is its `spend` limit. The parent's record of the child reserves it in the parent's
/// account.
#[async_trait]
pub trait Children: Send + Sync {
    /// Determines everything about a child that can be known before it begins. It starts nothing.
    ///
    /// # Errors
    ///
    /// The output for the model if the child is refused.
    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput>;

    /// Starts the child, or continues it if it was started before. Its intent is on record at this point.
    ///
    /// The future is dropped when the parent is stopped. Then [`Children::end`] must still find the child.
    async fn run(&self, spawn: &Spawn, arguments: &Value) -> Spawned;

    /// Takes over the children that an earlier process started for this thread. Those that have not ended continue.
    ///
    /// # Errors
    ///
    /// The reason in words.
    async fn adopt(&self, spawns: &[RecordedSpawn]) -> Result<(), String>;

    /// Bounds the children that are prepared from now on by an added item.
    ///
    /// The items come in order, each once, also when the thread is resumed.
    fn add(&self, item: &AddedItem);

    /// Returns the approval waits of all descendants until `now`, on the clock of the thread.
    ///
    /// Waits that overlap count once. While a thread waits for such a child, its own time does not advance.
    fn approval_wait(&self, now: Duration) -> Duration {
        let _unused = now;
        Duration::ZERO
    }

    /// Returns the children whose ends are on disk, at each call all of them.
    ///
    /// The ends of children that could not begin are included, so that the parent gets their shares back.
    fn ends(&self) -> Vec<ChildEnd> {
        Vec::new()
    }

    /// Ends all children of the thread and waits until their ends are on disk.
    async fn end(&self, ending: Ending) -> Ended;
}

/// A call that asks for a child.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpawnRequest {
    /// The provider's id of the call.
    pub call_id: String,
    /// The number of children that were started before.
    pub number: u64,
    /// The call's arguments, valid under the tool's schema.
    pub arguments: Value,
    /// The upper bound of the child's limits: the rest of the parent's limits, with one level of depth less.
    pub left: LimitSet,
}

/// A child that an earlier process put on record.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedSpawn {
    /// The child.
    pub spawn: Spawn,
    /// The arguments of the call that wants it, with which it begins if it has no record of its own. `None` if the call failed, or
    /// the end of the child is on record: then it never begins.
    pub arguments: Option<Value>,
}

/// The result of a call that starts a child.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Spawned {
    /// The output for the model.
    Returned(ToolOutput),
    /// The child was interrupted so that it can be resumed, and so is its parent.
    Interrupted,
    /// The child waits for an approval, and so does its parent.
    Suspended(Box<ApprovalRequest>),
}

/// The way in which a thread ends its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Waits for their ends: the thread has completed or is suspended.
    Await,
    /// Cancels them: the thread failed or was cancelled.
    Cancel,
    /// Interrupts them so that they can be resumed, like the thread.
    Interrupt,
}

/// The result of [`Children::end`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ended {
    /// Every child has ended.
    All,
    /// Some children were interrupted and can be resumed.
    Interrupted,
    /// A child waits for an approval.
    Suspended(Box<ApprovalRequest>),
}
