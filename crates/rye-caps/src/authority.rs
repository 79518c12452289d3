//! The decision on a call: a stack of grants that must all allow it.

mod denied;

use std::{fmt, sync::Arc};

pub use self::denied::Denied;
use crate::{
    capability::{Capability, Kind, Primary},
    grant::Grant,
    inclusion,
    invocation::Invocation,
    pattern::{self, Pattern},
};

/// The rights of a thread: a stack of [`Layer`]s, all of which must allow a capability (`SPEC 9.4`).
///
/// An authority always has a layer, and a layer cannot be removed. An authority can therefore be
/// [narrowed](Self::narrow), but not widened. The default authority denies everything.
///
/// ```
/// use rye_caps::{Authority, Grant, Layer, LayerName};
///
/// let operator = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
/// let directive = Layer::new(
///     LayerName::Directive("deploy".to_owned()),
///     Grant::of_items("execute", "tool", "rye/file-system/*")?,
/// );
/// let authority = operator.narrow(directive);
///
/// let permit = authority.permit(&"rye.execute.tool.rye.file-system.read".parse()?)?;
/// assert_eq!(permit.capability().as_str(), "rye.execute.tool.rye.file-system.read");
///
/// let denied = authority.permit(&"rye.execute.tool.rye.bash.bash".parse()?).unwrap_err();
/// assert_eq!(
///     denied.to_string(),
///     "`rye.execute.tool.rye.bash.bash` is not allowed by the directive `deploy` (add \
///      `<execute><tool>rye.bash.bash</tool></execute>` to its `<permissions>`)",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// Invariant: not empty. Shared, because every permit contains the authority that gave it.
    layers: Arc<[Layer]>,
}

impl Authority {
    /// Makes an authority with only a root layer.
    pub fn new(root: Layer) -> Self {
        Self { layers: Arc::new([root]) }
    }

    /// Returns the authority that denies everything.
    pub fn denied() -> Self {
        Self::new(Layer::new(LayerName::Nobody, Grant::nothing()))
    }

    /// Returns this authority with one more layer: it allows what both this authority and `layer` allow.
    #[must_use]
    pub fn narrow(&self, layer: Layer) -> Self {
        Self { layers: self.layers.iter().cloned().chain([layer]).collect() }
    }

    /// Returns the permit for a call. Every layer must allow the item. Every layer except those of directives and
    /// threads must also allow the functions that the item stands for (`SPEC 9.6b`).
    ///
    /// A directive grants items, so it may grant a wrapper without the wrapped function. The rules of the operator, the
    /// project and signers apply to the function itself, under every name.
    ///
    /// # Errors
    ///
    /// [`Denied`] with every layer that refuses, outermost first. It is about the item or, if the item is allowed,
    /// about its first refused function.
    pub fn permit(&self, invocation: &Invocation) -> Result<Permit, Denied> {
        let item = invocation.item();
        if !self.allows(item) {
            return Err(self.denial(item, invocation));
        }
        let refused = invocation.functions().iter().find(|function| {
            let mut judging = self.layers.iter().filter(|layer| layer.name.judges_functions());
            judging.any(|layer| !layer.grant.allows(function))
        });
        match refused {
            Some(function) => Err(self.denial(function, invocation)),
            None => Ok(Permit { capability: item.clone(), authority: self.clone() }),
        }
    }

    /// Describes the refusal of a call whose first refused capability is `capability`.
    fn denial(&self, capability: &Capability, invocation: &Invocation) -> Denied {
        let refusing = self.layers.iter().filter_map(|layer| {
            let functions = invocation.functions().iter();
            let functions = functions.filter(|_| layer.name.judges_functions());
            let needed = std::iter::once(invocation.item()).chain(functions);
            let lacks = needed.filter(|needed| !layer.grant.allows(needed));
            let lacks: Vec<Pattern> = lacks.map(Pattern::exactly).collect();
            (!lacks.is_empty()).then(|| (layer.name.clone(), lacks))
        });
        let refusing: Vec<(LayerName, Vec<Pattern>)> = refusing.collect();
        let smallest = Pattern::exactly(capability);
        let mut of_capability = refusing.iter().filter(|(_, lacks)| lacks.contains(&smallest));
        let layer = of_capability.next().map(|(name, _)| name.clone());
        Denied {
            capability: capability.clone(),
            item: (invocation.item() != capability).then(|| invocation.item().clone()),
            layer: layer.unwrap_or(LayerName::Nobody),
            smallest,
            refusing,
        }
    }

    /// Returns `true` if every layer allows `capability`, which is the answer of [`permit`](Self::permit) for an item
    /// that stands for nothing else. Use it for listings, which check many items and call none.
    pub fn allows(&self, capability: &Capability) -> bool {
        !self.layers.is_empty() && self.layers.iter().all(|layer| layer.grant.allows(capability))
    }

    /// Returns a permit for an action on any items of `kind` that the authority covers, such as a search (`SPEC 9.3`).
    /// The permit is for one capability that every layer allows. Before an item is shown, its own capability must be
    /// checked.
    ///
    /// Returns `None` if there is no such capability. This is decided exactly, over all possible capabilities.
    ///
    /// ```
    /// use rye_caps::{Authority, Grant, Kind, Layer, LayerName, Primary};
    ///
    /// let layer = |items| Grant::of_items("search", "knowledge", items).map(|it| Layer::new(LayerName::Client, it));
    /// let notes = Authority::new(layer("notes.*")?);
    /// let permit = |authority: &Authority| authority.permit_some(Primary::Search, Kind::Knowledge);
    ///
    /// assert!(permit(&notes.narrow(layer("*.drafts.?")?)).is_some());
    /// assert!(permit(&notes.narrow(layer("recipes.*")?)).is_none());
    /// # Ok::<(), rye_caps::PatternError>(())
    /// ```
    pub fn permit_some(&self, primary: Primary, kind: Kind) -> Option<Permit> {
        let items = pattern::all_items(primary, kind);
        let sides: Vec<&[Pattern]> =
            self.layers.iter().map(|layer| layer.grant.patterns()).collect();
        let capability = items.globs().iter().find_map(|glob| inclusion::meeting(glob, &sides))?;
        self.permit(&capability.into()).ok()
    }

    /// Returns the first layer that allows `primary` on no item of `kind` (`SPEC 9.3`).
    ///
    /// Returns `None` if each layer allows some item, even if no item is allowed by all of them.
    pub fn closed_by(&self, primary: Primary, kind: Kind) -> Option<&Layer> {
        self.layers.iter().find(|layer| !layer.grant.allows_some(primary, kind))
    }

    /// The layers, outermost first. There is at least one.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

/// The authority that denies everything.
impl Default for Authority {
    fn default() -> Self {
        Self::denied()
    }
}

/// A grant and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    name: LayerName,
    grant: Grant,
}

impl Layer {
    /// Makes a layer with a grant and the name of its source.
    pub fn new(name: LayerName, grant: Grant) -> Self {
        Self { name, grant }
    }

    /// The source of the grant.
    pub fn name(&self) -> &LayerName {
        &self.name
    }

    /// The grant.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// The source of a layer's grant.
///
/// `Display` writes a phrase for messages, such as ``the directive `a/b` ``.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LayerName {
    /// No source: the layer of the default authority, which allows nothing.
    Nobody,
    /// The policy of the operator.
    Operator,
    /// The policy of the current project, which can only restrict the operator's policy.
    Project,
    /// The trust document of the key with this id, which limits the grants of items that the key signed.
    Signer(String),
    /// The declaration of the directive with this id.
    Directive(String),
    /// The ancestor thread with this id.
    Thread(String),
    /// The rights that the operator gives the clients of a server.
    Client,
}

impl LayerName {
    /// Returns `true` if the layer must allow the functions behind an item as well as the item (`SPEC 9.6b`).
    ///
    /// The declarations of directives, including those of ancestor threads, grant items by their ids only.
    pub fn judges_functions(&self) -> bool {
        !matches!(self, Self::Directive(_) | Self::Thread(_))
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("the default authority"),
            Self::Operator => f.write_str("the operator's policy"),
            Self::Project => f.write_str("the project's policy"),
            Self::Signer(key) => write!(f, "the signing key `{key}`"),
            Self::Directive(id) => write!(f, "the directive `{id}`"),
            Self::Thread(id) => write!(f, "the ancestor thread `{id}`"),
            Self::Client => f.write_str("what clients of this server may do"),
        }
    }
}

/// The proof that an authority allowed one capability.
///
/// Only the methods of [`Authority`] make permits. A `Permit` can be neither cloned nor constructed from its fields, so
/// a function that takes one cannot be called without a check:
///
/// ```compile_fail,E0451
/// # let capability: rye_caps::Capability = "rye.execute.tool.x".parse().unwrap();
/// # let authority = rye_caps::Authority::denied();
/// let permit = rye_caps::Permit { capability, authority };
/// ```
///
/// ```compile_fail,E0599
/// fn twice(permit: rye_caps::Permit) -> (rye_caps::Permit, rye_caps::Permit) {
///     (permit.clone(), permit)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped permits nothing"]
pub struct Permit {
    capability: Capability,
    authority: Authority,
}

impl Permit {
    /// The allowed capability.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// The authority that gave the permit, as it was at that time. It also bounds everything that the call does.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }
}

#[cfg(test)]
mod tests;
