//! The items that needs are followed into, verified or as they are written.

use std::cell::RefCell;
use std::collections::HashMap;

use rye_caps::{Grant, Layer};
use rye_parse::Directive;
use rye_resolve::{ItemId, Library, ResolveError};
use rye_sign::Provenance;
use rye_thread::THREAD_DIRECTIVE;
use rye_types::ItemKind;

use crate::aliases::chain_grant;
use crate::config::HOOKS_FILE;
use crate::plan::{Chained, Placing, ceilings, names_steps, resolve_chain, starts_threads};

/// The items that needs are followed into.
pub trait CalledItems {
    /// Returns the directive of this id; `None` if it is not there or cannot be read.
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective>;

    /// Returns `true` if a space has the item.
    fn has(&self, kind: ItemKind, id: &ItemId) -> bool;

    /// Returns `true` if a call of this tool starts a thread.
    fn starts_threads(&self, tool: &ItemId) -> bool;

    /// Returns the most that the signers may grant of a directive or knowledge that a call brings into a thread: of the item
    /// itself, of what a directive extends, and of its context. Each layer comes with the item that its key signed.
    fn bounds_of_taken(&self, kind: ItemKind, id: &ItemId) -> Vec<(String, Layer)>;
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
    /// `true` if the `<model>` of its chain says that its steps are carried out without a model (SPEC 10.13).
    pub is_without_model: bool,
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
        let is_without_model = chain.as_ref().is_some_and(|it| names_steps(it.model().as_ref()));
        let declared = chain.and_then(|it| chain_grant(&it).ok());
        Some(CalledDirective { directive, declared, is_without_model })
    }
}

impl CalledItems for LibraryItems<'_> {
    fn called_directive(&self, id: &ItemId) -> Option<CalledDirective> {
        let mut known = self.directives.borrow_mut();
        known.entry(id.clone()).or_insert_with(|| self.read(id)).clone()
    }

    fn has(&self, kind: ItemKind, id: &ItemId) -> bool {
        !matches!(self.library.locate(kind, id), Err(ResolveError::NotFound { .. }))
    }

    fn starts_threads(&self, tool: &ItemId) -> bool {
        let manifest = || Some(starts_threads(self.library.tool(tool).ok()?.content.value()));
        let starts = || tool.as_str() == THREAD_DIRECTIVE || manifest().unwrap_or_default();
        *self.starters.borrow_mut().entry(tool.clone()).or_insert_with(starts)
    }

    /// An item that cannot be had is refused when it is called, so that it bounds nothing.
    fn bounds_of_taken(&self, kind: ItemKind, id: &ItemId) -> Vec<(String, Layer)> {
        match kind {
            ItemKind::Directive => {
                let chained = resolve_chain(self.library, id, &Placing::AsWritten);
                chained.map(|chained| bounds_of_chain(&chained)).unwrap_or_default()
            }
            ItemKind::Knowledge => {
                let item = self.library.knowledge(id).ok();
                item.map(|item| bounds(&format!("{kind} `{id}`"), item.content.provenance()))
                    .unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

fn bounds_of_chain(chained: &Chained) -> Vec<(String, Layer)> {
    let Chained { chain, knowledge, .. } = chained;
    let name = |kind: ItemKind, id: &ItemId| format!("{kind} `{id}`");
    let links = chain.root_first().rev();
    let links = links.map(|link| (name(link.kind, &link.id), link.content.provenance()));
    let extended_by = chain.extended_by();
    let extended_by = extended_by.map(|hook| (format!("config `{HOOKS_FILE}`"), &hook.provenance));
    let knowledge = knowledge.iter();
    let knowledge = knowledge.map(|item| (name(item.kind, &item.id), item.content.provenance()));
    let signed = links.chain(extended_by).chain(knowledge);
    signed.flat_map(|(name, provenance)| bounds(&name, provenance)).collect()
}

/// A trust document with an invalid pattern is refused where the item is taken in.
fn bounds(name: &str, provenance: &Provenance) -> Vec<(String, Layer)> {
    let layers = ceilings(provenance).unwrap_or_default().into_iter();
    layers.map(|layer| (name.to_owned(), layer)).collect()
}
