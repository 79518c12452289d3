//! The items that needs are followed into, verified or as they are written.

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

impl CalledItems for Library {
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective> {
        let leaf = self.directive(id).ok()?;
        let directive = leaf.content.value().clone();
        let chain = self.chain(leaf).ok();
        Some(CalledDirective { directive, declared: chain.and_then(|it| chain_grant(&it).ok()) })
    }

    fn starts_threads(&self, tool: &ItemId) -> bool {
        let manifest = || Some(starts_threads(self.tool(tool).ok()?.content.value()));
        tool.as_str() == THREAD_DIRECTIVE || manifest().unwrap_or_default()
    }
}
