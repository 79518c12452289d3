//! The items that needs are followed into, verified or as they are written.

use std::cell::RefCell;
use std::collections::HashMap;

use rye_caps::Grant;
use rye_parse::Directive;
use rye_resolve::{ItemId, Library};
use rye_thread::THREAD_DIRECTIVE;

use crate::aliases::chain_grant;
use crate::plan::starts_threads;

/// The items that needs are followed into.
pub trait CalledItems {
    /// Returns the directive of this id; `None` if it is not there or cannot be read.
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective>;

    /// Returns `true` if a call of this tool starts a thread.
    fn starts_threads(&self, tool: &ItemId) -> bool;
}

/// A directive that a call executes or starts.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "each implementation of `CalledItems` makes it whole"
)]
pub struct CalledDirective {
    /// The directive.
    pub directive: Directive,
    /// The permissions that its chain declares; `None` if the chain cannot be followed.
    pub declared: Option<Grant>,
}

/// The items of a library, each read once.
#[derive(Debug)]
pub struct LibraryItems<'l> {
    library: &'l Library,
    directives: RefCell<HashMap<ItemId, Option<CalledDirective>>>,
    starters: RefCell<HashMap<ItemId, bool>>,
}

impl<'l> LibraryItems<'l> {
    /// The items that `library` finds and verifies.
    #[must_use]
    pub fn of(library: &'l Library) -> Self {
        Self { library, directives: RefCell::default(), starters: RefCell::default() }
    }

    fn read(&self, id: &ItemId) -> Option<CalledDirective> {
        let leaf = self.library.directive(id).ok()?;
        let directive = leaf.content.value().clone();
        let chain = self.library.chain(leaf).ok();
        Some(CalledDirective { directive, declared: chain.and_then(|it| chain_grant(&it).ok()) })
    }
}

impl CalledItems for LibraryItems<'_> {
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective> {
        let mut known = self.directives.borrow_mut();
        known.entry(id.clone()).or_insert_with(|| self.read(id)).clone()
    }

    fn starts_threads(&self, tool: &ItemId) -> bool {
        let manifest = || Some(starts_threads(self.library.tool(tool).ok()?.content.value()));
        let starts = || tool.as_str() == THREAD_DIRECTIVE || manifest().unwrap_or_default();
        *self.starters.borrow_mut().entry(tool.clone()).or_insert_with(starts)
    }
}
