//! The words of hooks: events, layers, effects.

use std::fmt;
use std::str::FromStr;

/// The events of a thread that a hook may act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HookEvent {
    /// The thread completed or failed, and nothing is recorded of that yet.
    AfterComplete,
    /// A turn is over, and the thread goes on.
    AfterStep,
    /// The conversation has come to nine tenths of the model's context window.
    ContextLimitReached,
    /// The model returns outputs that fit the contract.
    DirectiveReturn,
    /// A call was refused, or the thread is about to fail.
    Error,
    /// A limit was reached, and the thread is about to fail.
    Limit,
    /// A thread that continues another one is about to send its first request.
    ThreadContinued,
    /// The thread is about to send its first request.
    ThreadStarted,
}

impl HookEvent {
    /// All of them, sorted by name.
    pub const ALL: [Self; 8] = [
        Self::AfterComplete,
        Self::AfterStep,
        Self::ContextLimitReached,
        Self::DirectiveReturn,
        Self::Error,
        Self::Limit,
        Self::ThreadContinued,
        Self::ThreadStarted,
    ];

    /// The snake case name of SPEC 10.3.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AfterComplete => "after_complete",
            Self::AfterStep => "after_step",
            Self::ContextLimitReached => "context_limit_reached",
            Self::DirectiveReturn => "directive_return",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::ThreadContinued => "thread_continued",
            Self::ThreadStarted => "thread_started",
        }
    }

    /// Whether what tools give back is put before the model as well.
    pub(crate) const fn is_context(self) -> bool {
        matches!(self, Self::ThreadContinued | Self::ThreadStarted)
    }
}

/// When hooks have their turn, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 10.3 numbers these five")]
pub enum HookLayer {
    /// 0: the operator's.
    User,
    /// 1: those of the directive and of what it extends.
    Directive,
    /// 2: those that come with the program.
    BuiltIn,
    /// 3: the project's.
    Project,
    /// 4: those that run whatever came before.
    Infrastructure,
}

impl HookLayer {
    /// Its number in SPEC 10.3.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::User => 0,
            Self::Directive => 1,
            Self::BuiltIn => 2,
            Self::Project => 3,
            Self::Infrastructure => 4,
        }
    }
}

/// What a hook decides about its thread. Of all hooks of an event the first that decides wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 10.3 names these five")]
pub enum HookEffect {
    /// The thread ends as cancelled.
    Abort,
    /// The thread goes on; at [`HookEvent::ContextLimitReached`] as a new one.
    Continue,
    /// Somebody is asked, as for an approval.
    Escalate,
    /// The thread ends as failed.
    Fail,
    /// The request is made again, or the outputs are asked for again.
    Retry,
}

impl HookEffect {
    /// All of them, sorted by name.
    pub const ALL: [Self; 5] =
        [Self::Abort, Self::Continue, Self::Escalate, Self::Fail, Self::Retry];

    /// The name of SPEC 10.3.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Continue => "continue",
            Self::Escalate => "escalate",
            Self::Fail => "fail",
            Self::Retry => "retry",
        }
    }

    /// Whether it lets the thread do more than it would without: only a hook whose actions all worked decides so.
    pub(crate) const fn is_permissive(self) -> bool {
        matches!(self, Self::Continue | Self::Retry)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for HookEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookEvent {
    type Err = HookWordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| HookWordError { text: text.to_owned() })
    }
}

impl FromStr for HookEffect {
    type Err = HookWordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| HookWordError { text: text.to_owned() })
    }
}

/// A word that names no event or effect of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is no event or effect of a hook")]
pub struct HookWordError {
    /// The word.
    pub text: String,
}
