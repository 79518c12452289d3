//! Shows that the crates agree with each other.
