//! Threads that a thread starts, as it sees them (SPEC 10.9).

pub(crate) mod disk;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::account::ChildEnd;
use crate::{AddedItem, ApprovalRequest, Limits, ThreadId, ToolOutput};

/// The item id of the tool that starts a child.
pub const THREAD_DIRECTIVE: &str = "rye/agent/threads/thread_directive";

/// Whoever prepares and drives the children of one thread; [`drive`](crate::drive) says when.
///
/// What a child may do, spend and last is for the implementation to keep below its parent's: the authority narrowed, the
/// limits of the [`SpawnRequest`] as caps. The money of the child is its limit on
/// `spend`, which the record of the parent takes from the parent's account.
#[async_trait]
pub trait Children: Send + Sync {
    /// Finds out everything about a child that can be known before it begins, and begins nothing.
    ///
    /// # Errors
    ///
    /// What the model is told when there will be no child.
    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput>;

    /// Begins the child, which is on record by now, or goes on with it where it has begun before; never a second time.
    ///
    /// The future is dropped when the parent is stopped, which must leave the child where [`Children::end`] finds it.
    async fn run(&self, spawn: &Spawn, arguments: &Value) -> Spawned;

    /// Takes over what an earlier program started for this thread and gave back an id or a result of; of these, what has
    /// not ended goes on.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    async fn adopt(&self, spawns: &[Spawn]) -> Result<(), String>;

    /// Bounds the children that are prepared from now on by an item that a call of the thread added to its conversation.
    /// The items come in their order, each once, also where the thread is resumed.
    fn add(&self, item: &AddedItem);

    /// How long people have thought about calls below the thread until `now`, by the clock that it is driven with; times in which
    /// several of these waited count once. A thread that waits for a child meanwhile takes none of its own time.
    fn thought(&self, now: Duration) -> Duration {
        let _nobody_is_asked = now;
        Duration::ZERO
    }

    /// The children that have ended, and whose ends are on disk; each as often as this is asked. The ends of children that could not
    /// begin are among them, so that the parent has their shares back.
    fn ended(&self) -> Vec<ChildEnd> {
        Vec::new()
    }

    /// Sees to it that no child of the thread runs any more, and that its end is on disk.
    async fn end(&self, ending: Ending) -> Ended;
}

/// A call that wants a child.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpawnRequest {
    /// The provider's id of the call.
    pub call_id: String,
    /// How many children were begun before.
    pub number: u64,
    /// The call's arguments, which satisfy its schema.
    pub arguments: Value,
    /// The most that the child may use: what the parent has left, and one level less.
    pub left: Limits,
}

/// A child, as it is on record before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spawn {
    /// The provider's id of the call that wants it.
    pub call_id: String,
    /// The child.
    pub child: ThreadId,
    /// The directive that it follows.
    pub directive: String,
    /// Whether the call waits for it.
    pub waiting: Waiting,
    /// Its limits, at most what the parent had left.
    pub limits: Limits,
    /// How many items calls of the parent had added to its conversation by then; they bound the child as they bound the
    /// parent.
    pub added: u64,
}

impl Spawn {
    /// The child that a call wants.
    #[must_use]
    pub fn new(
        call_id: &str,
        child: ThreadId,
        directive: &str,
        waiting: Waiting,
        limits: Limits,
    ) -> Self {
        let (call_id, directive) = (call_id.to_owned(), directive.to_owned());
        Self { call_id, child, directive, waiting, limits, added: 0 }
    }
}

/// Whether a call that starts a child waits for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call waits or it does not")]
pub enum Waiting {
    /// The call gives back what the child comes to.
    ForTheEnd,
    /// The call gives back the child's id at once.
    ForNothing,
}

/// What a call that starts a child comes to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Spawned {
    /// The model is told this.
    Returned(ToolOutput),
    /// The child was stopped so that somebody can go on with it, and so is its parent.
    Interrupted,
    /// The child waits for somebody, and so does its parent.
    Suspended(Box<ApprovalRequest>),
}

/// How a thread parts with its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// They come to their ends: the thread has done its work, or waits for somebody.
    Await,
    /// They are cancelled: the thread failed or was cancelled.
    Cancel,
    /// They are stopped where somebody can go on with them, as the thread is.
    Interrupt,
}

/// What [`Children::end`] left.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ended {
    /// Every child has ended for good.
    All,
    /// Some were stopped and can go on.
    Interrupted,
    /// One waits for somebody.
    Suspended(Box<ApprovalRequest>),
}
