//! The knowledge and the files to which a chain refers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rye_parse::{ContextContent, ContextEntry};
use rye_types::Position;

use super::Suppression;
use crate::Link;

/// A knowledge item or a file to which a chain refers at one position.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextReference {
    /// The knowledge id, or `file:` and the path of a file ([`ContextContent::id`]).
    pub id: String,
    /// The position of the item.
    pub position: Position,
    /// `true` if the item may be missing. One directive of the chain that requires it makes it required.
    pub optional: bool,
    /// The id of the first directive that requires the item. If none does, the id of the first that refers to it.
    pub asked_by: String,
}

/// Writes the sort and the name, as in ``knowledge `team/rules` `` and ``file `AGENTS.md` ``.
impl fmt::Display for ContextReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id.strip_prefix(ContextContent::FILE) {
            Some(path) => write!(f, "file `{path}`"),
            None => write!(f, "knowledge `{}`", self.id),
        }
    }
}

/// Returns the references of a chain, root first and in document order, each once per position. Suppressed ones are
/// left out (SPEC 7.2).
///
/// An id at two positions is listed twice, but needs to be loaded only once. Pass the found items to
/// [`compose`](crate::compose).
pub fn context_references(chain_root_first: &[Link<'_>]) -> Vec<ContextReference> {
    let suppressed = suppressions(chain_root_first);
    let mut references: Vec<ContextReference> = Vec::new();
    let mut seen = BTreeMap::new();
    for (link, entry) in entries(chain_root_first) {
        let Some((position, id)) = reference(entry) else { continue };
        if suppressed.iter().any(|suppression| suppression.removes(&id)) {
            continue;
        }
        let next = ContextReference {
            id: id.clone().into_owned(),
            position,
            optional: entry.optional,
            asked_by: link.id.to_owned(),
        };
        match seen.get(&(position, id.clone())).and_then(|index: &usize| references.get_mut(*index))
        {
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
        if let (None, Some(id)) = (entry.position.in_prompt(), entry.content.id())
            && seen.insert(id.clone())
        {
            let id = id.into_owned();
            suppressed.push(Suppression { id, declared_by: link.id.to_owned() });
        }
    }
    suppressed
}

/// Returns the position and id of an entry that refers to knowledge or a file.
fn reference(entry: &ContextEntry) -> Option<(Position, Cow<'_, str>)> {
    Some((entry.position.in_prompt()?, entry.content.id()?))
}
