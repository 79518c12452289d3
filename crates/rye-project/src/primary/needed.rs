//! The items that an item needs where it is copied to.

use rye_resolve::{ItemId, ResolveError, Space};
use rye_types::ItemKind;

use crate::check::named_by;
use crate::needs::LibraryItems;
use crate::project::Project;

/// Returns the item, and all items that it names and that these name in turn, each once. What comes with the program is
/// everywhere already, and what is nowhere is left out: `rye check` names it.
///
/// # Errors
///
/// The function fails if one of them cannot be verified or read.
pub fn needed_items(
    project: &Project,
    kind: ItemKind,
    id: &ItemId,
) -> Result<Vec<(ItemKind, ItemId)>, ResolveError> {
    let library = &project.library;
    let mut needed = vec![(kind, id.clone())];
    let mut place = 0;
    let items = LibraryItems::of(library);
    while let Some((kind, id)) = needed.get(place).cloned() {
        place += 1;
        if kind != ItemKind::Directive {
            continue;
        }
        for named in named_by(&items, library.directive(&id)?.content.value()) {
            let is_here = match library.locate(named.0, &named.1) {
                Err(ResolveError::NotFound { .. }) => false,
                located => located?.winner.space != Space::Builtin,
            };
            if is_here && !needed.contains(&named) {
                needed.push(named);
            }
        }
    }
    Ok(needed)
}
