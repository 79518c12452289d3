//! The spaces that decide about keys.

/// The source of a trust document or a revocation list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// User or system space: the operator put the document there.
    Operator,
    /// Project space: the authors of the project put the document there.
    Project,
    /// `--trust FILE`: the operator named the document for this run.
    Run,
}
