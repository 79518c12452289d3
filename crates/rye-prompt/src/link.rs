//! A directive of an `extends` chain.

use rye_parse::Directive;

/// A directive with its item id, which names it in errors and records.
///
/// A chain is a slice of links, root first. The leaf, which is the directive that runs, comes last.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a name and the thing that it names; there is nothing to add"
)]
pub struct Link<'a> {
    /// The item id, such as `deploy/staging`. The directive's own `name` may be only its last segment (SPEC 1.5).
    pub id: &'a str,
    /// The parsed file, which the caller has verified.
    pub directive: &'a Directive,
}

impl<'a> Link<'a> {
    /// Pairs an item id with its directive.
    pub fn new(id: &'a str, directive: &'a Directive) -> Self {
        Self { id, directive }
    }
}
