//! `<hooks>`: what happens when an event of a run meets a condition.

use std::{fmt, str::FromStr};

use crate::{Action, Condition, Spanned};

mod effect;
mod read;

pub use effect::{HookEffect, ParseHookEffectError};
pub(crate) use read::effect;
pub(super) use read::read;

/// One hook, as a directive or a hooks file declares it (SPEC 3.7, 10.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// Its name; one nearer the leaf of an extends chain replaces an inherited one of the same name.
    pub id: Spanned<String>,
    /// When it is considered.
    pub event: Spanned<HookEvent>,
    /// What must hold; several conditions in a row become one `All`.
    pub condition: Option<Spanned<Condition>>,
    /// What it decides about the thread; one of [`HookEvent::effects`].
    pub effect: Option<Spanned<HookEffect>>,
    /// What is done, in order; only a hook with an effect may do nothing.
    pub actions: Vec<Spanned<Action>>,
}

/// The events of a run that a hook may name (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before the extends chain is walked.
    ResolveExtends,
    /// Before the first message.
    ThreadStarted,
    /// Before the first message of a continuation.
    ThreadContinued,
    /// After each turn.
    AfterStep,
    /// When a limit is hit.
    Limit,
    /// When something failed.
    Error,
    /// When the model returns its outputs.
    DirectiveReturn,
    /// When the run is over.
    AfterComplete,
    /// When the model's context window is nearly full.
    ContextLimitReached,
}

impl HookEvent {
    /// Every event, in the order of SPEC 10.3.
    pub const ALL: [Self; 9] = [
        Self::ResolveExtends,
        Self::ThreadStarted,
        Self::ThreadContinued,
        Self::AfterStep,
        Self::Limit,
        Self::Error,
        Self::DirectiveReturn,
        Self::AfterComplete,
        Self::ContextLimitReached,
    ];

    /// The name that files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResolveExtends => "resolve_extends",
            Self::ThreadStarted => "thread_started",
            Self::ThreadContinued => "thread_continued",
            Self::AfterStep => "after_step",
            Self::Limit => "limit",
            Self::Error => "error",
            Self::DirectiveReturn => "directive_return",
            Self::AfterComplete => "after_complete",
            Self::ContextLimitReached => "context_limit_reached",
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookEvent {
    type Err = ParseHookEventError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or_else(|| ParseHookEventError { text: text.to_owned() })
    }
}

/// A text that names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown event `{text}`")]
#[non_exhaustive]
pub struct ParseHookEventError {
    text: String,
}
