//! A child, as its parent records it before it begins (SPEC 10.9).

use rye_types::LimitSet;
use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// A child, as recorded before it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Spawn {
    /// The provider's id of the call that asks for it.
    pub call_id: String,
    /// The child.
    #[serde(rename = "thread")]
    pub child: ThreadId,
    /// The directive of the child.
    pub directive: String,
    /// The moment at which the call returns.
    #[serde(rename = "async")]
    pub waiting: Waiting,
    /// Its limits, within the rest of the parent's limits.
    pub limits: LimitSet,
    /// The number of items that calls of the parent had added to its conversation. They bound the child as well.
    #[serde(default, skip_serializing_if = "crate::json::is_zero")]
    pub added: u64,
}

impl Spawn {
    /// Creates the record of a child.
    #[must_use]
    pub fn new(
        call_id: &str,
        child: ThreadId,
        directive: &str,
        waiting: Waiting,
        limits: LimitSet,
    ) -> Self {
        let call_id = call_id.to_owned();
        let directive = directive.to_owned();
        Self { call_id, child, directive, waiting, limits, added: 0 }
    }
}

/// The moment at which a call that starts a child returns. Records say whether the child is asynchronous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "bool", into = "bool")]
#[expect(clippy::exhaustive_enums, reason = "a call waits or it does not")]
pub enum Waiting {
    /// At the end of the child, with its result.
    ForTheEnd,
    /// At once, with the id of the child.
    ForNothing,
}

impl From<bool> for Waiting {
    fn from(is_async: bool) -> Self {
        if is_async { Self::ForNothing } else { Self::ForTheEnd }
    }
}

impl From<Waiting> for bool {
    fn from(waiting: Waiting) -> Self {
        waiting == Waiting::ForNothing
    }
}
