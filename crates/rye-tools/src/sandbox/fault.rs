//! Why a program could not be confined.

use std::fmt;

/// What was tried, and what the system said.
#[derive(Debug)]
pub(super) struct Fault {
    action: String,
    cause: String,
}

impl Fault {
    pub(super) fn new(action: &str, cause: impl fmt::Display) -> Self {
        Self { action: action.to_owned(), cause: cause.to_string() }
    }

    /// Turns the error of an action into a fault that names it.
    pub(super) fn at<E: fmt::Display>(action: &str) -> impl FnOnce(E) -> Self {
        let action = action.to_owned();
        move |cause| Self { action, cause: cause.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.cause)
    }
}
