//! The decisions of hooks about the thread.

use std::{fmt, str::FromStr};

use super::HookEvent;

/// The decision of a hook at a control event. The first hook that decides wins (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an effect that is not handled would be passed over in silence"
)]
pub enum HookEffect {
    /// Repeats the request, or the return of the outputs.
    Retry,
    /// Ends the thread as failed.
    Fail,
    /// Ends the thread as cancelled.
    Abort,
    /// Continues the thread; later hooks do not decide otherwise.
    Continue,
    /// Waits for a person's decision, as for an approval.
    Escalate,
}

impl HookEffect {
    /// All effects, in the order of SPEC 10.3.
    pub const ALL: [Self; 5] =
        [Self::Retry, Self::Fail, Self::Abort, Self::Continue, Self::Escalate];

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Fail => "fail",
            Self::Abort => "abort",
            Self::Continue => "continue",
            Self::Escalate => "escalate",
        }
    }
}

impl fmt::Display for HookEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookEffect {
    type Err = ParseHookEffectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|effect| effect.as_str() == text)
            .ok_or_else(|| ParseHookEffectError { text: text.to_owned() })
    }
}

/// A text that is not the name of an effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown effect `{text}`")]
#[non_exhaustive]
pub struct ParseHookEffectError {
    text: String,
}

impl HookEvent {
    /// The effects that a hook may have at this event; empty if there is nothing to decide.
    pub fn effects(self) -> &'static [HookEffect] {
        use HookEffect::{Abort, Continue, Escalate, Fail, Retry};
        match self {
            Self::AfterStep => &[Fail, Abort, Continue, Escalate],
            Self::Limit => &[Fail, Abort, Escalate],
            Self::Error | Self::DirectiveReturn => &[Retry, Fail, Abort, Continue, Escalate],
            Self::ContextLimitReached => &[Fail, Abort, Continue],
            Self::ResolveExtends
            | Self::ThreadStarted
            | Self::ThreadContinued
            | Self::AfterComplete => &[],
        }
    }
}
