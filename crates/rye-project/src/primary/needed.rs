//! The items that an item needs where it is copied to.

use rye_resolve::{ItemId, ResolveError, Space, extending_hook};
use rye_types::ItemKind;

use crate::check::named_by;
use crate::needs::LibraryItems;
use crate::project::Project;

/// Returns the item, and all items that it names and that these name in turn, each once, with what a hook says that a directive
/// extends. What comes with the program is
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
    let hooks = library.config_hooks()?;
    while let Some((kind, id)) = needed.get(place).cloned() {
        place += 1;
        if kind != ItemKind::Directive {
            continue;
        }
        let directive = library.directive(&id)?;
        let directive = directive.content.value();
        let mut named = named_by(&items, directive);
        let by_hook = extending_hook(&hooks, &id, directive).and_then(|it| it.extends.as_deref());
        let by_hook =
            by_hook.and_then(|extends| Some((ItemKind::Directive, extends.parse().ok()?)));
        named.extend(by_hook);
        for named in named {
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
