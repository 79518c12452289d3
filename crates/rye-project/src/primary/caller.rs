//! Callers of an operation, with their rights.

use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Pattern, Permit, Primary};
use rye_resolve::ItemId;
use rye_types::ItemKind;

use super::error::PrimaryError;
use crate::aliases::canonical_grant;
use crate::config::is_provider;

/// A caller of an operation.
#[derive(Debug, Clone)]
pub struct Caller {
    authority: Authority,
    is_operator: bool,
}

impl Caller {
    /// Returns the operator, the caller that runs the program and may do all that the program can.
    #[must_use]
    pub fn operator() -> Self {
        let layer = Layer::new(LayerName::Operator, Grant::everything());
        Self { authority: Authority::new(layer), is_operator: true }
    }

    /// Returns a client of a server, which may do what the operator grants and nothing else. Configuration is
    /// not for clients, because it has no capability.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "who makes a client gives its grant away")]
    pub fn client(grant: Grant) -> Self {
        let layer = Layer::new(LayerName::Client, canonical_grant(&grant));
        Self { authority: Authority::new(layer), is_operator: false }
    }

    /// A thread, which may do what all of its layers allow. Configuration is not for threads.
    pub(crate) fn thread(authority: Authority) -> Self {
        Self { authority, is_operator: false }
    }

    /// Returns the authority of the caller.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns `true` for the operator, the caller that runs the program.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.is_operator
    }

    /// Returns `true` if the caller may do `primary` to at least one item of `kind`.
    #[must_use]
    pub fn may_some(&self, primary: Primary, kind: ItemKind) -> bool {
        match capability_kind(kind) {
            Some(kind) => self.authority.closed_by(primary, kind).is_none(),
            None => self.is_operator,
        }
    }

    /// Returns `true` if the caller may do `primary` to this item.
    #[must_use]
    pub fn may(&self, primary: Primary, kind: ItemKind, id: &ItemId) -> bool {
        self.permit(primary, kind, id).is_ok()
    }

    /// Returns `true` if the caller may do `primary` to every item of `kind`.
    pub(super) fn may_all(&self, primary: Primary, kind: ItemKind) -> bool {
        let Some(kind) = capability_kind(kind) else { return self.is_operator };
        let all: Pattern = format!("rye.{primary}.{kind}.*")
            .parse()
            .expect("because the names of operations and kinds are plain words");
        let all: Grant = std::iter::once(all).collect();
        self.authority.layers().iter().all(|layer| layer.grant().covers(&all).is_ok())
    }

    /// Returns the permit to do `primary` to this item; `None` for configuration, which has no capability.
    ///
    /// # Errors
    ///
    /// The method fails if the rights of the caller do not cover it.
    pub fn permit(
        &self,
        primary: Primary,
        kind: ItemKind,
        id: &ItemId,
    ) -> Result<Option<Permit>, PrimaryError> {
        // A provider's configuration is a tool by its folder alone: it says where prompts and keys go.
        let is_configuration =
            primary == Primary::Sign && kind == ItemKind::Tool && is_provider(id);
        if is_configuration && !self.is_operator {
            return Err(PrimaryError::Configuration);
        }
        let Some(capability_kind) = capability_kind(kind) else {
            return if self.is_operator { Ok(None) } else { Err(PrimaryError::Configuration) };
        };
        let capability = Capability::new(primary, capability_kind, id.as_str())
            .expect("because every item id is one of a capability");
        Ok(Some(self.authority.permit(&capability.into())?))
    }
}

/// Returns the capability's name for a kind. Configuration has no capability, so that only the operator uses
/// it (SPEC 4.3, 9.1).
fn capability_kind(kind: ItemKind) -> Option<Kind> {
    match kind {
        ItemKind::Directive => Some(Kind::Directive),
        ItemKind::Knowledge => Some(Kind::Knowledge),
        ItemKind::Tool => Some(Kind::Tool),
        ItemKind::Config => None,
    }
}
