//! The effect of a tool's calls.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The effect of running a tool twice. It decides which calls may run in parallel or again.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Effect {
    /// Two runs have the effect of one.
    Idempotent,
    /// Two runs may differ from one.
    Once,
    /// Nothing outside the tool changes, so that calls may run in parallel.
    ReadOnly,
}

impl Effect {
    /// Returns `read_only`, `idempotent` or `once`, as in the transcript.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
