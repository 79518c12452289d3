//! `cargo xtask e2e`: runs the whole program against third-party programs.

pub(crate) mod exported;
pub(crate) mod exports;
pub(crate) mod install;
pub(crate) mod llama;
pub(crate) mod neighbours;
pub(crate) mod restate;
pub(crate) mod view;
pub(crate) mod workflows;

/// The exit code of a run that reached a limit.
const LIMIT: i32 = 5;
