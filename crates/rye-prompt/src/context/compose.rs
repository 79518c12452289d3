//! Composition of the context from the found knowledge.

use std::collections::{BTreeMap, BTreeSet};

use rye_parse::ContextContent;
use rye_types::Position;
use thiserror::Error;

use super::references::{entries, suppressions};
use super::{Context, ContextReference, Origin, Piece, context_references};
use crate::Link;

/// Composes the context of a chain: root first and, for each position, in document order (SPEC 7.2, D7, D14).
///
/// `knowledge` contains the content of every item and file of [`context_references`] that was found, by id. If an item was found but failed
/// verification, the caller must end the run instead, even if the item is optional.
///
/// # Errors
///
/// [`ComposeError::Missing`] with every required item that is not in `knowledge`.
pub fn compose(
    chain_root_first: &[Link<'_>],
    knowledge: &BTreeMap<String, String>,
) -> Result<Context, ComposeError> {
    let references = context_references(chain_root_first);
    let (skipped, missing) = absent(&references, knowledge);
    if !missing.is_empty() {
        return Err(ComposeError::Missing { missing });
    }
    let suppressed = suppressions(chain_root_first);
    let mut context = Context { suppressed, skipped, ..Context::default() };
    let mut awaited: BTreeSet<(Position, String)> =
        references.iter().map(|item| (item.position, item.id.clone())).collect();
    for (link, entry) in entries(chain_root_first) {
        let Some(position) = entry.position.in_prompt() else { continue };
        let (text, origin) = match (&entry.content, entry.content.id()) {
            (ContextContent::Inline(text), _) => (text, Origin::Inline),
            (_, Some(id)) => {
                let id = id.into_owned();
                // The id is removed from the set, so that only its first occurrence is used.
                let is_first = awaited.remove(&(position, id.clone()));
                match knowledge.get(&id).filter(|_| is_first) {
                    Some(text) => (text, Origin::Knowledge(id)),
                    None => continue,
                }
            }
            (_, None) => continue,
        };
        context.entries_mut(position).push(Piece {
            text: text.clone(),
            origin,
            asked_by: link.id.to_owned(),
        });
    }
    Ok(context)
}

/// A context that cannot be composed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Required knowledge, or a required file, was not found.
    #[error(
        "{}; create what is missing, or write `optional=\"true\"` on an element that can do without",
        missing.iter().map(complaint).collect::<Vec<_>>().join("; ")
    )]
    Missing {
        /// The missing items, in the order of [`context_references`]. There is at least one.
        missing: Vec<ContextReference>,
    },
}

impl Context {
    fn entries_mut(&mut self, position: Position) -> &mut Vec<Piece> {
        match position {
            Position::System => &mut self.system,
            Position::Before => &mut self.before,
            Position::After => &mut self.after,
        }
    }
}

/// Returns the items that were not found: first the optional ones, then the required ones.
fn absent(
    references: &[ContextReference],
    knowledge: &BTreeMap<String, String>,
) -> (Vec<ContextReference>, Vec<ContextReference>) {
    references
        .iter()
        .filter(|item| !knowledge.contains_key(&item.id))
        .cloned()
        .partition(|item| item.optional)
}

fn complaint(item: &ContextReference) -> String {
    format!(
        "{item}, wanted in `<{}>` by directive `{}`, cannot be found",
        item.position, item.asked_by
    )
}
