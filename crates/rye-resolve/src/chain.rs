//! A directive with everything that it extends.

use rye_caps::Grant;
use rye_parse::Directive;
use rye_types::ItemKind;

use crate::{Item, ItemId, Library, PlacedHook, ResolveError, StatedLimits, StatedModel, grant};

/// A directive, the directive that it extends, and so on to the root. Each is verified (SPEC 7.1).
#[derive(Clone, Debug)]
pub struct ExtendsChain {
    /// Leaf first. Invariant: never empty.
    links: Vec<Item<Directive>>,
    extended_by: Option<PlacedHook>,
}

impl Library {
    /// The chain from `leaf` through all that it extends. Each directive is found and verified as usual.
    ///
    /// If a `resolve_extends` hook of the hooks files applies to `leaf`, the first such hook decides what
    /// `leaf` extends (SPEC 7.3). Otherwise the directive itself decides.
    ///
    /// # Errors
    ///
    /// A directive of the chain cannot be used or repeats, or there are too many (SPEC 7.1); or the hooks
    /// cannot be read, see [`config_hooks`](Self::config_hooks).
    pub fn chain(&self, leaf: Item<Directive>) -> Result<ExtendsChain, ResolveError> {
        let hook = self.extending(&leaf)?;
        ExtendsChain::walk(leaf, hook, |id| self.directive(id))
    }
}

impl ExtendsChain {
    /// The most directives that a chain may have, the leaf counted.
    pub const MAX_LINKS: usize = 32;

    /// Follows `extends` from `leaf` and gets each directive from `load`. If there is a `hook`, it decides
    /// what the leaf extends.
    pub(crate) fn walk(
        leaf: Item<Directive>,
        hook: Option<PlacedHook>,
        load: impl Fn(&ItemId) -> Result<Item<Directive>, ResolveError>,
    ) -> Result<Self, ResolveError> {
        let id = leaf.id.clone();
        let walked = first(&leaf, hook.as_ref()).and_then(|first| {
            let load = |child: &ItemId, id: &ItemId| {
                load(id).map_err(|source| {
                    let parent = id.clone();
                    let id = child.clone();
                    ResolveError::Extends { id, parent, source: Box::new(source) }
                })
            };
            follow(leaf, first, |link| &link.id, parent, load)
        });
        match (walked, hook) {
            (Ok(links), extended_by) => Ok(Self { links, extended_by }),
            (Err(error), None) => Err(error),
            (Err(source), Some(hook)) => Err(ResolveError::HookExtends {
                id,
                hook: hook.hook.id.value,
                location: hook.location,
                source: Box::new(source),
            }),
        }
    }

    /// The hook that overrides the `extends` of the leaf, if one applied (SPEC 7.3).
    pub fn extended_by(&self) -> Option<&PlacedHook> {
        self.extended_by.as_ref()
    }

    /// The directive that the chain starts from.
    pub fn leaf(&self) -> &Item<Directive> {
        self.links.first().expect("because a chain starts with its leaf")
    }

    /// The directives in the order that their context is composed in.
    pub fn root_first(&self) -> impl DoubleEndedIterator<Item = &Item<Directive>> {
        self.links.iter().rev()
    }

    /// The first directive, counted from the leaf, that has a `<permissions>` block. An empty block counts
    /// (SPEC D5).
    pub fn declaring(&self) -> Option<&Item<Directive>> {
        self.links.iter().find(|link| link.content.value().permissions.is_some())
    }

    /// The `<model>` of the nearest directive that has one (SPEC D19).
    pub fn model(&self) -> Option<StatedModel<'_>> {
        StatedModel::nearest(self.leaf_first())
    }

    /// Each limit from the nearest directive that sets it (SPEC D19).
    pub fn limits(&self) -> StatedLimits<'_> {
        StatedLimits::nearest(self.leaf_first())
    }

    fn leaf_first(&self) -> impl Iterator<Item = (&ItemId, &Directive)> {
        self.links.iter().map(|link| (&link.id, link.content.value()))
    }

    /// The grant of the declaring directive. If no directive of the chain declares permissions, it is empty
    /// (SPEC D5, 9.2).
    ///
    /// The grants of several directives are never merged.
    ///
    /// # Errors
    ///
    /// [`ResolveError::InvalidPermissions`] with every entry of the block that is not a capability pattern.
    pub fn grant(&self) -> Result<Grant, ResolveError> {
        let Some(declaring) = self.declaring() else { return Ok(Grant::nothing()) };
        let permissions = declaring.content.value().permissions.as_ref();
        let entries = permissions.map_or(&[][..], |block| &block.value.entries);
        grant::grant(entries).map_err(|problems| ResolveError::InvalidPermissions {
            id: declaring.id.clone(),
            location: declaring.location.clone(),
            problems,
        })
    }
}

/// Returns the id that the leaf extends: the hook's if there is a hook, else the leaf's own.
fn first(
    leaf: &Item<Directive>,
    hook: Option<&PlacedHook>,
) -> Result<Option<ItemId>, ResolveError> {
    let Some(extends) = hook.and_then(|hook| hook.extends.as_deref()) else { return parent(leaf) };
    extends.parse().map(Some).map_err(|source| {
        let kind = ItemKind::Directive;
        let text = extends.to_owned();
        ResolveError::InvalidId { kind, text, source }
    })
}

fn parent(link: &Item<Directive>) -> Result<Option<ItemId>, ResolveError> {
    let Some(extends) = &link.content.value().extends else { return Ok(None) };
    extends.value.parse().map(Some).map_err(|source| ResolveError::InvalidExtends {
        id: link.id.clone(),
        extends: extends.value.clone(),
        span: extends.span.clone(),
        source,
    })
}

/// Walks the chain without knowing directives. `T` is a link, `next` is the id that the leaf extends, and
/// `load` takes the ids of a child and of its parent and returns the parent.
fn follow<T>(
    leaf: T,
    mut next: Option<ItemId>,
    id_of: impl Fn(&T) -> &ItemId,
    parent: impl Fn(&T) -> Result<Option<ItemId>, ResolveError>,
    load: impl Fn(&ItemId, &ItemId) -> Result<T, ResolveError>,
) -> Result<Vec<T>, ResolveError> {
    let mut seen = vec![id_of(&leaf).clone()];
    let mut links = vec![leaf];
    while let Some(id) = next {
        let repeats = seen.contains(&id);
        seen.push(id.clone());
        if repeats {
            return Err(ResolveError::Circular { id, chain: seen });
        }
        if seen.len() > ExtendsChain::MAX_LINKS {
            return Err(too_long(&seen));
        }
        let link = load(&seen[seen.len() - 2], &id)?;
        next = parent(&link)?;
        links.push(link);
    }
    Ok(links)
}

fn too_long(seen: &[ItemId]) -> ResolveError {
    let leaf = seen[0].clone();
    ResolveError::ChainTooLong { leaf, limit: ExtendsChain::MAX_LINKS }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Walks from `leaf` over rows of `child parent`; an id without a row is a root.
    fn walk_ids(leaf: &str, rows: &[(&str, &str)]) -> Result<Vec<ItemId>, ResolveError> {
        let id = |text: &str| text.parse::<ItemId>().unwrap();
        let parents: BTreeMap<ItemId, ItemId> = rows.iter().map(|(c, p)| (id(c), id(p))).collect();
        let parent = |link: &ItemId| Ok(parents.get(link).cloned());
        let leaf = id(leaf);
        let first = parent(&leaf)?;
        follow(leaf, first, |link| link, parent, |_, id| Ok(id.clone()))
    }

    #[track_caller]
    fn check(leaf: &str, rows: &[(&str, &str)], expected: &str) {
        let text = match walk_ids(leaf, rows) {
            Ok(links) => links.iter().map(ItemId::as_str).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn alone() {
        check("leaf", &[], "leaf");
    }

    #[test]
    fn leaf_first() {
        check("leaf", &[("leaf", "mid"), ("mid", "root")], "leaf mid root");
    }

    #[test]
    fn a_cycle_below_the_leaf() {
        check(
            "leaf",
            &[("leaf", "a"), ("a", "b"), ("b", "a")],
            "Circular extends chain: a (chain: leaf → a → b → a); remove `extends` from one of them",
        );
    }

    #[test]
    fn a_directive_that_extends_itself() {
        check(
            "leaf",
            &[("leaf", "leaf")],
            "Circular extends chain: leaf (chain: leaf → leaf); remove `extends` from one of them",
        );
    }

    #[test]
    fn thirty_two_links_and_one_more() {
        let names: Vec<String> = (0..33).map(|n| format!("d{n}")).collect();
        let rows: Vec<(&str, &str)> =
            names.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        assert_eq!(walk_ids("d1", &rows).unwrap().len(), 32);
        check("d0", &rows, "the extends chain of `d0` has more than 32 links; merge some of them");
    }
}
