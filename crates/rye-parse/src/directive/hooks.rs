//! `<hooks>`: actions and decisions when an event of a run meets a condition.

use std::{fmt, str::FromStr};

use crate::{Action, Condition, Spanned};

mod effect;
mod read;

pub use effect::{HookEffect, ParseHookEffectError};
pub(crate) use read::effect;
pub(super) use read::read;

/// One hook of a directive or a hooks file (SPEC 3.7, 10.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// The name of the hook. In an `extends` chain, a hook nearer the leaf replaces an inherited hook with the same
    /// name.
    pub id: Spanned<String>,
    /// The event of the hook.
    pub event: Spanned<HookEvent>,
    /// The condition of the hook; several conditions in a row become one `All`.
    pub condition: Option<Spanned<Condition>>,
    /// The decision of the hook about the thread; one of [`HookEvent::effects`].
    pub effect: Option<Spanned<HookEffect>>,
    /// The actions in order. Only a hook with an effect may have none.
    pub actions: Vec<Spanned<Action>>,
}

/// The events of a run to which a hook may react (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before the `extends` chain is resolved.
    ResolveExtends,
    /// Before the first message.
    ThreadStarted,
    /// Before the first message of a continuation.
    ThreadContinued,
    /// After each turn.
    AfterStep,
    /// At a reached limit.
    Limit,
    /// After a failure.
    Error,
    /// At the return of the outputs by the model.
    DirectiveReturn,
    /// At the end of the run.
    AfterComplete,
    /// Near the end of the model's context window.
    ContextLimitReached,
}

impl HookEvent {
    /// All events, in the order of SPEC 10.3.
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

    /// The name in files.
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

/// A text that is not the name of an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown event `{text}`")]
#[non_exhaustive]
pub struct ParseHookEventError {
    text: String,
}
