//! How an operation ended, in the terms that exit codes are made of (SPEC 12.1).

/// What sort of bad end it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// It was tried and did not work out.
    Failed,
    /// A limit or the budget was reached.
    Limit,
    /// Trust or permission stands against it.
    Refused,
    /// What was asked for makes no sense.
    Usage,
}

impl Class {
    /// The word that results use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Refused => "refused",
            Self::Usage => "usage",
        }
    }
}
