//! The state of a thread.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

/// The state of a thread (SPEC 10.2).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[strum(serialize_all = "snake_case", parse_err_fn = ThreadStateError::new, parse_err_ty = ThreadStateError)]
pub enum ThreadState {
    /// The operator or a hook stopped it.
    Cancelled,
    /// It finished its directive.
    Completed,
    /// Another thread continues its conversation.
    Continued,
    /// It has a folder and has sent nothing yet.
    Created,
    /// It failed.
    Error,
    /// It is running, or its process was stopped or killed and it can be resumed.
    Running,
    /// It waits for the approval of a call.
    Suspended,
}

impl ThreadState {
    /// All states, sorted by name.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// Returns `true` if nothing more happens in the thread.
    ///
    /// The exception is a thread that the operator resumes after a limit or a failure.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Continued | Self::Error)
    }

    /// Returns the lower case name in `thread.json` and in the registry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A word that is not a thread state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a thread state; use `cancelled`, `completed`, `continued`, `created`, `error`, `running` or `suspended`"
)]
pub struct ThreadStateError {
    /// The word.
    pub text: String,
}

impl ThreadStateError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}
