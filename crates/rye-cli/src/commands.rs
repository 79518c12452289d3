//! A file for each command, with its arguments and its calls of the library.

mod approval;
pub(crate) mod call;
pub(crate) mod caps;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod lock;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod new;
pub(crate) mod render;
pub(crate) mod reopen;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod sign;
pub(crate) mod threads;
pub(crate) mod trust;
pub(crate) mod verify;
pub(crate) mod which;
