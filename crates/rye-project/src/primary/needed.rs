//! The items that an item needs where it is copied to.

use rye_resolve::{ItemId, PlacedHook, ResolveError, Space, extending_hook};
use rye_types::ItemKind;

use crate::check::{NamedItem, named_by};
use crate::needs::LibraryItems;
use crate::project::Project;

/// Returns the item, and all items that it names and that these name in turn, each once. What a hook of this project says that a
/// directive extends stands for what the directive says. What comes with the program is everywhere already, and what is nowhere is
/// left out: `rye check` names it.
///
/// # Errors
///
/// The function fails if one of them, or a hooks file where a directive is one of them, cannot be verified or read.
pub fn needed_items(
    project: &Project,
    kind: ItemKind,
    id: &ItemId,
) -> Result<Vec<(ItemKind, ItemId)>, ResolveError> {
    let library = &project.library;
    let items = LibraryItems::of(library);
    let mut hooks: Option<Vec<PlacedHook>> = None;
    let mut needed = vec![NamedItem { kind, id: id.clone(), is_extended: false }];
    let mut place = 0;
    while let Some(NamedItem { kind, id, is_extended }) = needed.get(place) {
        let (id, is_extended) = (id.clone(), *is_extended);
        place += 1;
        if *kind != ItemKind::Directive {
            continue;
        }
        let directive = library.directive(&id)?;
        let directive = directive.content.value();
        let known = match hooks.take() {
            Some(known) => known,
            None => library.config_hooks()?,
        };
        // A hook decides for the directive that is run, and not for those that this one extends (SPEC 7.3).
        let extending = (!is_extended).then(|| extending_hook(&known, &id, directive)).flatten();
        for named in named_by(&items, directive, extending) {
            let is_here = match library.locate(named.kind, &named.id) {
                Err(ResolveError::NotFound { .. }) => false,
                located => located?.winner.space != Space::Builtin,
            };
            let is_known = |it: &NamedItem| {
                (it.kind, &it.id, it.is_extended) == (named.kind, &named.id, named.is_extended)
            };
            if is_here && !needed.iter().any(is_known) {
                needed.push(named);
            }
        }
        hooks = Some(known);
    }
    let mut items: Vec<(ItemKind, ItemId)> = Vec::new();
    for NamedItem { kind, id, .. } in needed {
        if !items.contains(&(kind, id.clone())) {
            items.push((kind, id));
        }
    }
    Ok(items)
}
