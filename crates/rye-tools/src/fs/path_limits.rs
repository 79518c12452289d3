//! The limits of a path.

/// The largest number of links in a path.
pub(super) const MAX_LINKS: usize = 40;

/// The largest number of folders between the root and a file. Each of them is held open during the
/// resolution.
pub(super) const MAX_DEPTH: usize = 100;
