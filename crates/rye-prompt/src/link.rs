//! One link of an `extends` chain.

use rye_parse::Directive;

/// A directive under the id that it was found by, which is what errors and records call it.
///
/// A chain is a slice of these, root first: the leaf, which is what runs, comes last.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a name and the thing that it names; there is nothing to add"
)]
pub struct Link<'a> {
    /// The item id, such as `deploy/staging`. The directive's own `name` may be its last segment
    /// alone (SPEC 1.5).
    pub id: &'a str,
    /// The parsed file, which the caller has verified.
    pub directive: &'a Directive,
}

impl<'a> Link<'a> {
    /// Pairs an item id with what was found under it.
    pub fn new(id: &'a str, directive: &'a Directive) -> Self {
        Self { id, directive }
    }
}
