//! The knowledge to which a chain refers.

use std::collections::{BTreeMap, BTreeSet};

use rye_parse::{ContextContent, ContextEntry};
use rye_types::Position;

use super::Suppression;
use crate::Link;

/// A knowledge item to which a chain refers at one position.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextReference {
    /// The knowledge id.
    pub id: String,
    /// The position of the item.
    pub position: Position,
    /// `true` if the item may be missing. One directive of the chain that requires it makes it required.
    pub optional: bool,
    /// The id of the first directive that requires the item. If none does, the id of the first that refers to it.
    pub asked_by: String,
}

/// Returns the references of a chain, root first and in document order, each once per position. Suppressed ones are
/// left out (SPEC 7.2).
///
/// An id at two positions is listed twice, but needs to be loaded only once. Pass the found items to
/// [`compose`](crate::compose).
pub fn context_references(chain_root_first: &[Link<'_>]) -> Vec<ContextReference> {
    let suppressed = suppressions(chain_root_first);
    let suppressed: BTreeSet<&str> =
        suppressed.iter().map(|suppression| suppression.id.as_str()).collect();
    let mut references: Vec<ContextReference> = Vec::new();
    let mut seen = BTreeMap::new();
    for (link, entry) in entries(chain_root_first) {
        let Some((position, id)) = reference(entry) else { continue };
        if suppressed.contains(id) {
            continue;
        }
        let next = ContextReference {
            id: id.to_owned(),
            position,
            optional: entry.optional,
            asked_by: link.id.to_owned(),
        };
        match seen.get(&(position, id)).and_then(|index: &usize| references.get_mut(*index)) {
            Some(first) if first.optional && !next.optional => *first = next,
            Some(_) => {}
            None => {
                seen.insert((position, id), references.len());
                references.push(next);
            }
        }
    }
    references
}

/// Returns every entry of the chain, root first, with the link that declares it.
pub(super) fn entries<'a>(
    chain: &[Link<'a>],
) -> impl Iterator<Item = (Link<'a>, &'a ContextEntry)> {
    chain.iter().flat_map(|link| link.directive.context.iter().map(|entry| (*link, &entry.value)))
}

/// Returns the suppressions of the whole chain without duplicates, each with the first link that declares it.
pub(super) fn suppressions(chain: &[Link<'_>]) -> Vec<Suppression> {
    let mut suppressed: Vec<Suppression> = Vec::new();
    let mut seen = BTreeSet::new();
    for (link, entry) in entries(chain) {
        if let (None, ContextContent::Knowledge(id)) = (entry.position.in_prompt(), &entry.content)
            && seen.insert(id)
        {
            suppressed.push(Suppression { id: id.clone(), declared_by: link.id.to_owned() });
        }
    }
    suppressed
}

/// Returns the position and id of an entry that refers to knowledge.
fn reference(entry: &ContextEntry) -> Option<(Position, &str)> {
    match (&entry.content, entry.position.in_prompt()) {
        (ContextContent::Knowledge(id), Some(position)) => Some((position, id)),
        _ => None,
    }
}
