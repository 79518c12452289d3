//! The decisions of hooks about the thread.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

use super::HookEvent;
use crate::ParseNameError;

/// The decision of a hook at a control event. The first hook that decides wins (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an effect that is not handled would be passed over in silence"
)]
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = ParseNameError)]
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
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> ParseNameError {
    ParseNameError::new("effect", text)
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
