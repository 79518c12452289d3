//! A directive of the catalog, with what several judgements look at.

use std::ops::Range;

use rye_caps::{Grant, Pattern};
use rye_parse::Directive;
use rye_resolve::ItemId;

use super::catalog::{Catalog, Chain};
use super::permissions::{declared_grant, grant, granted_patterns};
use crate::needs::{GivenInputs, Needs, StepCall, needs_of, step_calls};

/// A directive that is judged with the other items of the catalog in view.
pub(super) struct Judged<'c> {
    pub(super) id: &'c ItemId,
    pub(super) leaf: &'c Directive,
    /// The directive with what it extends.
    pub(super) chain: Chain<'c>,
    /// Each permission of its own, with its place.
    pub(super) places: Vec<(Pattern, Range<usize>)>,
    /// The grant of its permissions, or else of those that it inherits.
    pub(super) granted: Grant,
    /// The calls of its steps, as a run without given inputs makes them.
    pub(super) calls: Vec<StepCall<'c>>,
    /// The needs of its steps, of its own hooks, and of the hooks in hooks files.
    pub(super) needs: Needs,
}

impl<'c> Judged<'c> {
    pub(super) fn of(catalog: &'c Catalog<'_>, id: &'c ItemId, leaf: &'c Directive) -> Self {
        let chain = catalog.chain(id, leaf);
        let given = GivenInputs::new();
        let in_files = catalog.hooks.as_ref().map_or(&[][..], Vec::as_slice);
        let in_files = in_files.iter().map(|placed| &placed.hook);
        let of_chain = chain.links.iter().flat_map(|(_, link)| &link.hooks).map(|hook| &hook.value);
        let needs = needs_of(leaf, &given, in_files.chain(of_chain), catalog);
        let permissions = leaf.permissions.as_ref();
        let places = permissions.map(|block| granted_patterns(&block.value)).unwrap_or_default();
        let granted = match (permissions, chain.declaring().next()) {
            (None, Some((_, link))) => declared_grant(link),
            _ => grant(&places),
        };
        Self { id, leaf, calls: step_calls(leaf, &given), needs, chain, places, granted }
    }
}
