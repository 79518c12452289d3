//! The access of one thread's tools to its thread tree, which the session that drives the thread gives to the plan.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rye_sign::SigningKey;
use rye_thread::{
    AddedItem, AuthorisedCall, Children, Ended, Ending, RecordedSpawn, Spawn, SpawnRequest,
    Spawned, Tool, ToolOutput,
};
use rye_types::{Effect, Timestamp};
use serde_json::{Value, json};

/// The access of one thread's tools to its thread tree: to its children, to functions over its descendants, and to the
/// operator's key.
#[async_trait]
pub trait TreeAccess: Children + fmt::Debug {
    /// Returns `true` if there is a key for a signature that the operator approves.
    fn has_signing_key(&self) -> bool;

    /// Returns the operator's key and the time, for the one signature that the operator has approved. Returns `None` if the
    /// thread was given no key.
    async fn signing_key(&self) -> Option<(Arc<SigningKey>, Timestamp)>;

    /// Performs a function over the descendants of the thread, with arguments that fit its tool.
    async fn look_after(&self, function: TreeFunction, arguments: Value) -> ToolOutput;
}

/// A function by which a thread looks after its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a session has to perform each of them")]
pub enum TreeFunction {
    /// Ends a descendant for good.
    Cancel,
    /// Lists all descendants.
    List,
    /// Returns the result of a descendant that has ended.
    Result,
    /// Returns the state of a descendant.
    Status,
    /// Waits for the ends of descendants.
    Wait,
}

/// The tool behind a manifest's `builtin: FUNCTION`, and what a second call of it would do; `None` for other functions.
pub(super) fn tree_tool(
    function: &str,
    tree: &Arc<dyn TreeAccess>,
) -> Option<(Arc<dyn Tool>, Effect)> {
    let (function, effect) = match function {
        "agent/threads/cancel" => (TreeFunction::Cancel, Effect::Idempotent),
        "agent/threads/list" => (TreeFunction::List, Effect::ReadOnly),
        "agent/threads/result" => (TreeFunction::Result, Effect::ReadOnly),
        "agent/threads/status" => (TreeFunction::Status, Effect::ReadOnly),
        "agent/threads/wait" => (TreeFunction::Wait, Effect::ReadOnly),
        _ => return None,
    };
    Some((Arc::new(TreeTool { function, tree: Arc::clone(tree) }), effect))
}

struct TreeTool {
    function: TreeFunction,
    tree: Arc<dyn TreeAccess>,
}

#[async_trait]
impl Tool for TreeTool {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.tree.look_after(self.function, call.into_arguments()).await
    }

    fn approval_wait(&self, now: Duration) -> Duration {
        match self.function {
            TreeFunction::Cancel | TreeFunction::Wait => self.tree.approval_wait(now),
            TreeFunction::List | TreeFunction::Result | TreeFunction::Status => Duration::ZERO,
        }
    }
}

/// The tree of a thread that no session drives. It has no key, and each call of a tool that needs the tree is an error.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NotDriven;

impl NotDriven {
    /// Returns the output of a call that needs a driven thread.
    #[must_use]
    pub fn output() -> ToolOutput {
        ToolOutput::error(json!({ "error": "no thread is driven here" }))
    }
}

#[async_trait]
impl TreeAccess for NotDriven {
    fn has_signing_key(&self) -> bool {
        false
    }

    async fn signing_key(&self) -> Option<(Arc<SigningKey>, Timestamp)> {
        None
    }

    async fn look_after(&self, _: TreeFunction, _: Value) -> ToolOutput {
        Self::output()
    }
}

#[async_trait]
impl Children for NotDriven {
    async fn prepare(&self, _: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        Err(Self::output())
    }

    async fn run(&self, _: &Spawn, _: &Value) -> Spawned {
        Spawned::Returned(Self::output())
    }

    async fn adopt(&self, _: &[RecordedSpawn]) -> Result<(), String> {
        Ok(())
    }

    fn add(&self, _: &AddedItem) {}

    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
}
