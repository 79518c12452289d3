//! The tools that a driver runs itself, as records name them.

/// The item id of the internal tool that returns a directive's outputs.
pub const DIRECTIVE_RETURN: &str = "rye/agent/threads/directive_return";

/// The item id of the tool that starts a child.
pub const THREAD_DIRECTIVE: &str = "rye/agent/threads/thread_directive";
