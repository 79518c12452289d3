//! Ends of an operation, as exit codes tell them (SPEC 12.1).

use strum::IntoStaticStr;

/// A class of bad ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Class {
    /// It was tried and did not work out.
    Failed,
    /// A limit or the budget was reached.
    Limit,
    /// Trust or a permission is missing.
    Refused,
    /// The request makes no sense.
    Usage,
}

impl Class {
    /// The word that results use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
