//! The threads that calls of steps start, with the limits that the calls set.

use rye_parse::Action;
use serde_json::Value;

use super::NeedSource;

/// A call of a step that starts a thread.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// The directive, which may have placeholders.
    pub(super) id: String,
    pub(super) source: NeedSource,
    pub(super) limits: StartLimits,
}

/// The limits of this sort that a call sets for the thread which it starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StartLimits {
    pub(super) depth: Option<u64>,
    pub(super) spawns: Option<u64>,
    pub(super) turns: Option<u64>,
}

impl StartLimits {
    /// Reads the limits of a call. One that is known when the call is made counts as not set.
    pub(super) fn of_call(action: &Action) -> Self {
        let limits = match action.parameters.get("limits") {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
            limits => limits.cloned().unwrap_or_default(),
        };
        let count = |name: &str| limits.get(name)?.as_u64();
        Self { depth: count("depth"), spawns: count("spawns"), turns: count("turns") }
    }
}
