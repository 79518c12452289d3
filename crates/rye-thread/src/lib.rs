//! Runs one recorded model and tool loop inside its limits.
