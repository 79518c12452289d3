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
