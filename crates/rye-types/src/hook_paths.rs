//! The paths of the data that hooks see. They are known for each event, so that a misspelt one is found before it is used.

use crate::HookEvent;

/// The data that an event has before its thread exists, as it has at the opening.
const OPENING: [&str; 8] = [
    "directive.author",
    "directive.category",
    "directive.extends",
    "directive.id",
    "directive.name",
    "directive.version",
    "event",
    "inputs.*",
];

/// The data that each event of a thread has as well.
const THREAD: [&str; 14] = [
    "cost.input_tokens",
    "cost.output_tokens",
    "cost.retries",
    "cost.spend",
    "cost.tokens",
    "cost.turns",
    "limits.duration_seconds",
    "limits.spend",
    "limits.tokens",
    "limits.turns",
    "model",
    "provider",
    "thread.directive",
    "thread.id",
];

const AFTER_STEP: [&str; 6] = [
    "called_items",
    "called_items.N",
    "calls.N.is_error",
    "calls.N.item_id",
    "calls.N.name",
    "text",
];

const ERROR: [&str; 8] = [
    "error.final",
    "error.kind",
    "error.layer",
    "error.message",
    "error.pattern",
    "error.resource",
    "error.retryable",
    "error.type",
];

const LIMIT: [&str; 5] =
    ["limit.final", "limit.maximum", "limit.message", "limit.name", "limit.value"];

impl HookEvent {
    /// Returns the paths of the event's data. `N` in a path is an index into a list, and `*` is any name with all below it.
    #[must_use]
    pub fn data_paths(self) -> Vec<&'static str> {
        if self == Self::ResolveExtends {
            let known = OPENING.into_iter();
            return known.filter(|path| path.starts_with("directive.")).collect();
        }
        let failure: &[&str] = if self == Self::AfterComplete { &ERROR } else { &[] };
        let mut paths = [&OPENING, &THREAD[..], self.own_paths(), failure].concat();
        paths.sort_unstable();
        paths
    }

    /// Returns `true` if the event's data have a member of this name that not every event has.
    #[must_use]
    pub fn has_of_its_own(self, name: &str) -> bool {
        self.own_paths().iter().any(|path| path.split('.').next() == Some(name))
    }

    const fn own_paths(self) -> &'static [&'static str] {
        match self {
            Self::AfterComplete => &["state", "text"],
            Self::AfterStep => &AFTER_STEP,
            Self::ContextLimitReached => &["context.tokens", "context.window"],
            Self::DirectiveReturn => &["outputs.*"],
            Self::Error => &ERROR,
            Self::Limit => &LIMIT,
            Self::ResolveExtends | Self::ThreadContinued | Self::ThreadStarted => &[],
        }
    }

    /// Returns the paths of the data that hooks see before the thread exists: where they put knowledge into its opening.
    #[must_use]
    pub fn opening_paths() -> Vec<&'static str> {
        OPENING.to_vec()
    }
}
