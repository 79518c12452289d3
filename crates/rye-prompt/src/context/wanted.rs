//! What a chain asks for.

use std::collections::{BTreeMap, BTreeSet};

use rye_parse::{ContextContent, ContextEntry};

use super::{Slot, Suppression};
use crate::Link;

/// A knowledge item that a chain asks for at one position.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// The knowledge id.
    pub id: String,
    /// Where it is to stand.
    pub position: Slot,
    /// Whether it may be missing. One link that needs it is enough to make it needed.
    pub optional: bool,
    /// The id of the directive that asks: the first that needs the item, else the first that would
    /// like it.
    pub asked_by: String,
}

/// The references of a chain, root first and in document order, each once per position, without the
/// suppressed ones (SPEC 7.2).
///
/// An id that is wanted at two positions is listed twice; it needs to be loaded once.
/// [`compose`](crate::compose) takes what was found.
pub fn wanted(chain_root_first: &[Link<'_>]) -> Vec<Wanted> {
    let suppressed = suppressions(chain_root_first);
    let suppressed: BTreeSet<&str> =
        suppressed.iter().map(|suppression| suppression.id.as_str()).collect();
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut seen = BTreeMap::new();
    for (link, entry) in entries(chain_root_first) {
        let Some((position, id)) = reference(entry) else { continue };
        if suppressed.contains(id) {
            continue;
        }
        let next = Wanted {
            id: id.to_owned(),
            position,
            optional: entry.optional,
            asked_by: link.id.to_owned(),
        };
        match seen.get(&(position, id)).and_then(|index: &usize| wanted.get_mut(*index)) {
            Some(first) if first.optional && !next.optional => *first = next,
            Some(_) => {}
            None => {
                seen.insert((position, id), wanted.len());
                wanted.push(next);
            }
        }
    }
    wanted
}

/// Every entry of the chain, root first, with the link that declares it.
pub(super) fn entries<'a>(
    chain: &[Link<'a>],
) -> impl Iterator<Item = (Link<'a>, &'a ContextEntry)> {
    chain.iter().flat_map(|link| link.directive.context.iter().map(|entry| (*link, &entry.value)))
}

/// The suppressions of the whole chain, each once, with the first link that declares it.
pub(super) fn suppressions(chain: &[Link<'_>]) -> Vec<Suppression> {
    let mut suppressed: Vec<Suppression> = Vec::new();
    let mut seen = BTreeSet::new();
    for (link, entry) in entries(chain) {
        if let (None, ContextContent::Knowledge(id)) = (Slot::of(entry.position), &entry.content)
            && seen.insert(id)
        {
            suppressed.push(Suppression { id: id.clone(), declared_by: link.id.to_owned() });
        }
    }
    suppressed
}

/// The position and id of an entry that refers to knowledge.
fn reference(entry: &ContextEntry) -> Option<(Slot, &str)> {
    match (&entry.content, Slot::of(entry.position)) {
        (ContextContent::Knowledge(id), Some(position)) => Some((position, id)),
        _ => None,
    }
}
