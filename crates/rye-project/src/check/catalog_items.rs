//! The items of the catalog as needs are followed into them, as they are written.

use rye_caps::{Grant, Layer};
use rye_resolve::ItemId;
use rye_thread::THREAD_DIRECTIVE;
use rye_types::ItemKind;

use super::bounds;
use super::catalog::Catalog;
use super::permissions::declared_grant;
use crate::needs::{CalledDirective, CalledItems};
use crate::plan::{names_steps, starts_threads};

impl CalledItems for Catalog<'_> {
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective> {
        let (id, leaf) = self.directive(id)?;
        let chain = self.chain(id, leaf);
        let declaring = chain.declaring().next();
        let is_known = leaf.permissions.is_some()
            || !(self.hooks.is_err() || (declaring.is_none() && chain.broken.is_some()));
        let grant = || declaring.map_or_else(Grant::nothing, |(_, link)| declared_grant(link));
        Some(CalledDirective {
            directive: leaf.clone(),
            declared: is_known.then(grant),
            is_without_model: names_steps(chain.model().as_ref()),
        })
    }

    fn has(&self, kind: ItemKind, id: &ItemId) -> bool {
        Self::has(self, kind, id)
    }

    fn starts_threads(&self, tool: &ItemId) -> bool {
        tool.as_str() == THREAD_DIRECTIVE || self.tool(tool).is_some_and(starts_threads)
    }

    fn bounds_of_taken(&self, kind: ItemKind, id: &ItemId) -> Vec<(String, Layer)> {
        bounds::of_taken(self, kind, id)
    }
}
