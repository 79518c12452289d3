//! A hook with its place in the order of all hooks.

use rye_parse::Hook;
use rye_sign::Provenance;
use rye_types::{HookLayer, Position};

use crate::Location;

/// A hook with its file and its place in the order of all hooks.
///
/// It always comes from a verified file; `provenance` names the signer.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct PlacedHook {
    /// The hook as declared; its spans index the file at `location`.
    pub hook: Hook,
    /// The layer that the hook runs in, lowest first.
    pub layer: HookLayer,
    /// The place in its layer, lowest first.
    pub order: i64,
    /// The position in the prompt of the knowledge that its action adds.
    pub position: Position,
    /// `true` if an element around that knowledge names it for the model.
    pub wrap: bool,
    /// The id that the directive is to extend; only for the event `resolve_extends`.
    pub extends: Option<String>,
    /// The file that declares it.
    pub location: Location,
    /// The signer of that file.
    pub provenance: Provenance,
}
