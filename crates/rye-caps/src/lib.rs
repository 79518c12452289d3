//! Decides whether a grant covers a capability.
