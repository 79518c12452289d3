//! Names that every provider accepts, made from item ids (SPEC 5.4).

use std::collections::{BTreeMap, BTreeSet};

use rye_sign::Digest;

use super::{EXECUTE, OPERATIONS};
use crate::DIRECTIVE_RETURN;

/// Returns the palette name of an id without a collision.
///
/// Characters outside `[A-Za-z0-9_]` become `_`, and a leading digit gets a `_` before it. A name of more than 64
/// characters is cut and ends in a short hash of the id.
#[must_use]
pub fn palette_name(id: &str) -> String {
    let plain = plain(id);
    if plain.len() <= MAX_LENGTH { plain } else { hashed_name(id) }
}

/// Returns the name of a call without the prefixes that models add, such as `functions.`. No palette name has one.
pub(crate) fn bare_name(name: &str) -> &str {
    let mut bare = name.trim();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| bare.strip_prefix(prefix)) {
        bare = rest;
    }
    bare
}

/// Returns `true` if the name of a call means `directive_return`, by its palette name or its item id.
pub(crate) fn names_return(name: &str) -> bool {
    let name = bare_name(name);
    name == DIRECTIVE_RETURN || name == palette_name(DIRECTIVE_RETURN)
}

/// The namespaces in which vendors show functions to their models.
const PREFIXES: [&str; 4] = ["default_api.", "default_api:", "functions.", "tools."];

/// Returns `NAME` of `mcp__rye__NAME`, as clients of MCP write the names of tools. Such a name with another server means a tool of
/// that server.
pub(super) fn name_on_server(name: &str) -> Option<&str> {
    name.strip_prefix("mcp__rye__")
}

/// Returns the words of a name or an item id: its letters and digits, without the ASCII characters that stand between them.
pub(crate) fn words(name: &str) -> Vec<&str> {
    name.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns one name per id, in the given order.
///
/// Every id of a collision gets a hash, so that a name does not depend on the order of the tools.
#[must_use]
pub fn assign(ids: &[&str]) -> Vec<String> {
    let mut wanted: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for id in ids.iter().copied().chain([DIRECTIVE_RETURN]) {
        wanted.entry(palette_name(id)).or_default().insert(id);
    }
    let is_kept = |name: &str| name == EXECUTE || OPERATIONS.contains(&name);
    let is_taken = |name: &str| is_kept(name) || wanted.get(name).is_some_and(|ids| 1 < ids.len());
    ids.iter()
        .map(|id| {
            let name = palette_name(id);
            if is_taken(&name) { hashed_name(id) } else { name }
        })
        .collect()
}

const MAX_LENGTH: usize = 64;
const HASH_LENGTH: usize = 8;

fn plain(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("_{name}"),
    }
}

fn hashed_name(id: &str) -> String {
    let digest = Digest::of(id.as_bytes()).to_string();
    let hash: String = digest.chars().take(HASH_LENGTH).collect();
    let stem: String = plain(id).chars().take(MAX_LENGTH - HASH_LENGTH - 1).collect();
    format!("{stem}_{hash}")
}
