//! Permissions that a directive has and the one that it extends has not (SPEC D6).

use std::fmt;

use rye_caps::{Capability, Grant, Pattern};
use rye_resolve::{ExtendsChain, ItemId};

use crate::aliases::entry_grant;

/// A permission of a directive that the nearest ancestor with permissions does not cover.
///
/// Its `Display` names both directives and the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Widening {
    /// The directive that grants it.
    pub directive: ItemId,
    /// The directive that it extends and that does not.
    pub ancestor: ItemId,
    /// The permission.
    pub pattern: Pattern,
    /// A capability that only the directive grants; none when that took too long to decide.
    pub example: Option<Capability>,
}

impl fmt::Display for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directive, ancestor, pattern, example } = self;
        write!(
            f,
            "`{directive}` grants `{pattern}`, which the permissions of `{ancestor}`, which it extends, do not cover"
        )?;
        match example {
            Some(example) if example.as_str() != pattern.as_str() => {
                write!(f, ", such as `{example}`")
            }
            _ => Ok(()),
        }
    }
}

/// The widenings along the grants of a chain, those of its leaf first.
pub(crate) fn widenings(declared: &[(ItemId, Grant)]) -> Vec<Widening> {
    let pairs = declared.iter().zip(declared.iter().skip(1));
    pairs
        .flat_map(|((directive, grant), (ancestor, bound))| {
            let widened = grant.patterns().iter().filter_map(move |pattern| {
                let single: Grant = std::iter::once(pattern.clone()).collect();
                let reason = bound.covers(&single).err()?;
                Some((pattern.clone(), reason.capability().cloned()))
            });
            widened.map(|(pattern, example)| {
                let directive = directive.clone();
                let ancestor = ancestor.clone();
                Widening { directive, ancestor, pattern, example }
            })
        })
        .collect()
}

/// Returns the widenings along the chain, those of its leaf first.
pub(crate) fn widenings_of_chain(chain: &ExtendsChain) -> Vec<Widening> {
    let mut declared = Vec::new();
    for link in chain.root_first().rev() {
        let Some(permissions) = &link.content.value().permissions else { continue };
        let entries = permissions.value.entries.iter();
        // What is no pattern grants nothing, and is refused where the grant is read.
        let grants = entries.filter_map(|entry| entry_grant(&entry.value));
        declared
            .push((link.id.clone(), grants.fold(Grant::nothing(), |all, more| all.union(&more))));
    }
    widenings(&declared)
}
