//! The words of hooks (SPEC 10.3).

use std::fmt;

use strum::VariantArray;

use crate::word::words;

words! {
    "event";
    /// An event of a thread, or of its preparation, at which a hook may act.
    pub enum HookEvent {
        /// The `extends` chain is about to be resolved. There is no thread yet.
        ResolveExtends,
        /// The thread is about to send its first request.
        ThreadStarted,
        /// A successor is about to send its first request.
        ThreadContinued,
        /// A turn is over, and the thread continues.
        AfterStep,
        /// A limit was reached, and the thread is about to fail.
        Limit,
        /// A call was refused, or the thread is about to fail.
        Error,
        /// The model returns outputs that fit the contract.
        DirectiveReturn,
        /// The thread completed or failed, and its end is not recorded yet.
        AfterComplete,
        /// The conversation fills nine tenths of the model's context window.
        ContextLimitReached,
    }
}

impl HookEvent {
    /// Returns the effects that a hook may have at this event; none if there is nothing to decide.
    #[must_use]
    pub const fn effects(self) -> &'static [HookEffect] {
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

    /// Returns `true` if there is a thread at this event.
    #[must_use]
    pub const fn is_of_thread(self) -> bool {
        !matches!(self, Self::ResolveExtends)
    }

    /// Returns the events of a thread, in the order of [`Self::ALL`].
    pub fn of_threads() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|event| event.is_of_thread())
    }

    /// Returns `true` if the outputs of tools are added to the conversation as well.
    #[must_use]
    pub const fn is_context(self) -> bool {
        matches!(self, Self::ThreadContinued | Self::ThreadStarted)
    }
}

words! {
    "effect";
    /// The decision of a hook about its thread. The first decision at an event wins.
    pub enum HookEffect {
        /// The request is sent again, or the model is asked for the outputs again.
        Retry,
        /// The thread ends as failed.
        Fail,
        /// The thread ends as cancelled.
        Abort,
        /// The thread continues. At [`HookEvent::ContextLimitReached`], a successor continues it.
        Continue,
        /// A person is asked, as for an approval.
        Escalate,
    }
}

impl HookEffect {
    /// Returns `true` if the effect permits more than the thread may do without it.
    ///
    /// A hook decides so only if all its actions succeeded.
    #[must_use]
    pub const fn is_permissive(self) -> bool {
        matches!(self, Self::Continue | Self::Retry)
    }
}

/// The order of hooks within an event, lowest first. Files write its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
pub enum HookLayer {
    /// 0: hooks of the operator.
    User,
    /// 1: hooks of the directive and of the directives that it extends.
    Directive,
    /// 2: hooks that come with the program.
    BuiltIn,
    /// 3: hooks of the project.
    Project,
    /// 4: hooks that run regardless of earlier decisions.
    Infrastructure,
}

impl HookLayer {
    /// All layers, in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns its number in files.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for HookLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}
