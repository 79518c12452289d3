//! Pages as HTML text.
//!
//! Markup is checked when this crate is compiled, and every text of a thread is escaped where it is written.

mod call;
mod chain;
mod conversation;
mod diff;
mod document;
mod figures;
mod limits;
mod links;
mod panel;
mod scale;
mod summary;
mod text;
mod thread;
mod threads;
mod timeline;
mod value;

pub(crate) use self::document::served_policy;
pub(crate) use self::thread::{file, served};
pub(crate) use self::threads::{problem, threads};
