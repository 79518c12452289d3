//! The names of hook events, layers and effects.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// An event of a thread that a hook may act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", parse_err_fn = HookWordError::new, parse_err_ty = HookWordError)]
pub enum HookEvent {
    /// The thread completed or failed, and its end is not recorded yet.
    AfterComplete,
    /// A turn is over, and the thread continues.
    AfterStep,
    /// The conversation fills nine tenths of the model's context window.
    ContextLimitReached,
    /// The model returns outputs that fit the contract.
    DirectiveReturn,
    /// A call was refused, or the thread is about to fail.
    Error,
    /// A limit was reached, and the thread is about to fail.
    Limit,
    /// A successor is about to send its first request.
    ThreadContinued,
    /// The thread is about to send its first request.
    ThreadStarted,
}

impl HookEvent {
    /// All events, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the snake case name of SPEC 10.3.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the outputs of tools are added to the conversation as well.
    #[must_use]
    pub const fn is_context(self) -> bool {
        matches!(self, Self::ThreadContinued | Self::ThreadStarted)
    }
}

/// The order of hooks within an event, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 10.3 numbers these five")]
pub enum HookLayer {
    /// 0: hooks of the operator.
    User,
    /// 1: hooks of the directive and of the directives that it extends.
    Directive,
    /// 2: hooks of the program.
    BuiltIn,
    /// 3: hooks of the project.
    Project,
    /// 4: hooks that run regardless of earlier decisions.
    Infrastructure,
}

impl HookLayer {
    /// Returns its number in SPEC 10.3.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// The decision of a hook about its thread. The first decision at an event wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 10.3 names these five")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", parse_err_fn = HookWordError::new, parse_err_ty = HookWordError)]
pub enum HookEffect {
    /// The thread ends as cancelled.
    Abort,
    /// The thread continues. At [`HookEvent::ContextLimitReached`], a successor continues it.
    Continue,
    /// The operator is asked, as for an approval.
    Escalate,
    /// The thread ends as failed.
    Fail,
    /// The request is sent again, or the model is asked for the outputs again.
    Retry,
}

impl HookEffect {
    /// All effects, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of SPEC 10.3.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the effect permits more than the thread may do without it.
    ///
    /// A hook decides so only if all its actions succeeded.
    #[must_use]
    pub const fn is_permissive(self) -> bool {
        matches!(self, Self::Continue | Self::Retry)
    }
}

/// A word that is not an event or effect of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is not an event or an effect of a hook")]
pub struct HookWordError {
    /// The word.
    pub text: String,
}

impl HookWordError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}
