//! Pages as HTML text.
//!
//! Markup is checked when this crate is compiled, and every text of a thread is escaped where it is written.

mod authority;
mod call;
mod chain;
mod compare;
mod conversation;
mod diff;
mod document;
pub(crate) mod figures;
mod limits;
mod links;
mod live;
mod panel;
mod scale;
mod summary;
pub(crate) mod text;
mod thread;
mod threads;
mod timeline;
mod value;

pub(crate) use self::authority::authority;
pub(crate) use self::compare::{choose, compare};
pub(crate) use self::document::{entrance, served_policy};
pub(crate) use self::live::update;
pub(crate) use self::thread::{file, served_page, tree_file};
pub(crate) use self::threads::{problem, threads};
