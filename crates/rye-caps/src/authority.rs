//! Whether a call may be made: a stack of grants that all have to allow it.

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

/// What a thread may do: a stack of [`Layer`]s, all of which must allow a capability (`SPEC 9.4`).
///
/// There is no way to make an authority without a layer, and none to take a layer off: an authority can be
/// [narrowed](Self::narrow) and never widened. The default one denies everything.
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
    /// Invariant: not empty. Shared, because every permit has the authority that gave it.
    layers: Arc<[Layer]>,
}

impl Authority {
    /// The authority of a root layer alone.
    pub fn new(root: Layer) -> Self {
        Self { layers: Arc::new([root]) }
    }

    /// The authority that denies everything.
    pub fn denied() -> Self {
        Self::new(Layer::new(LayerName::Nobody, Grant::nothing()))
    }

    /// This authority under one more layer, so that it allows what it did before and `layer` allows too.
    #[must_use]
    pub fn narrow(&self, layer: Layer) -> Self {
        Self { layers: self.layers.iter().cloned().chain([layer]).collect() }
    }

    /// The permit for a call: every layer has to allow the item, and every layer but those of directives and threads the
    /// functions that it stands for (`SPEC 9.6b`).
    ///
    /// A directive grants items, so that one may be granted a wrapper and not what it wraps. The rules of the operator, of
    /// the project and of signers are about what happens, whatever it is called.
    ///
    /// # Errors
    ///
    /// [`Denied`] with every layer that refuses, outermost first: the item, or the first function that is refused.
    pub fn permit(&self, invocation: &Invocation) -> Result<Permit, Denied> {
        let item = invocation.item();
        if !self.allows(item) {
            return Err(self.denial(item, None, |_| true));
        }
        let refused = invocation.functions().iter().find(|function| {
            let mut judging = self.layers.iter().filter(|layer| layer.name.judges_functions());
            judging.any(|layer| !layer.grant.allows(function))
        });
        match refused {
            Some(function) => Err(self.denial(function, Some(item), LayerName::judges_functions)),
            None => Ok(Permit { capability: item.clone(), authority: self.clone() }),
        }
    }

    /// The refusal of `capability` by those of the layers that `judges` holds for.
    fn denial(
        &self,
        capability: &Capability,
        item: Option<&Capability>,
        judges: impl Fn(&LayerName) -> bool,
    ) -> Denied {
        let judging = self.layers.iter().filter(|layer| judges(&layer.name));
        let mut refusing = judging.filter(|layer| !layer.grant.allows(capability));
        let name = |layer: &Layer| layer.name.clone();
        Denied {
            capability: capability.clone(),
            item: item.cloned(),
            layer: refusing.next().map_or(LayerName::Nobody, name),
            others: refusing.map(name).collect(),
            smallest: Pattern::exactly(capability),
        }
    }

    /// Returns `true` if every layer allows `capability`: the same answer as [`permit`](Self::permit) gives for an item that
    /// stands for nothing else. It is for listings, which ask often and call nothing.
    pub fn allows(&self, capability: &Capability) -> bool {
        !self.layers.is_empty() && self.layers.iter().all(|layer| layer.grant.allows(capability))
    }

    /// The permit for what is done to whatever items of `kind` the authority covers, such as a search (`SPEC 9.3`): it is
    /// for one capability that every layer allows, and whoever shows an item asks for that item's.
    ///
    /// Nothing when there is no such capability. That is found out exactly, over all that can be written.
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

    /// The first layer under which `primary` is allowed on no item of `kind` at all (`SPEC 9.3`).
    ///
    /// Nothing means that each layer allows some item, though not necessarily the same one.
    pub fn closed_by(&self, primary: Primary, kind: Kind) -> Option<&Layer> {
        self.layers.iter().find(|layer| !layer.grant.allows_some(primary, kind))
    }

    /// The layers, outermost first; never empty.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

/// Everything is denied.
impl Default for Authority {
    fn default() -> Self {
        Self::denied()
    }
}

/// A grant and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    name: LayerName,
    grant: Grant,
}

impl Layer {
    /// A layer that allows what `grant` allows, in the name of `name`.
    pub fn new(name: LayerName, grant: Grant) -> Self {
        Self { name, grant }
    }

    /// Who gave the grant.
    pub fn name(&self) -> &LayerName {
        &self.name
    }

    /// What is granted.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// Who gave the grant of a layer.
///
/// `Display` gives a phrase for messages, such as ``the directive `a/b` ``.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LayerName {
    /// Nobody: the layer of an authority that was never given one.
    Nobody,
    /// The policy of who runs `rye`.
    Operator,
    /// The policy of the project that is worked on, which can only take away from the operator's.
    Project,
    /// The trust document of the key of this id, which says what items signed by it may be granted.
    Signer(String),
    /// The declaration of the directive of this id.
    Directive(String),
    /// The ancestor thread of this id.
    Thread(String),
    /// What the operator lets the clients of a server do.
    Client,
}

impl LayerName {
    /// Returns `true` if the layer has to allow the functions behind an item, too, and not the item alone (`SPEC 9.6b`).
    ///
    /// The declarations of directives, be it of an ancestor thread's, grant items by their ids.
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
/// Only [`Authority::permit`] makes one, and it can be neither copied nor put together from parts, so a function that
/// takes a `Permit` cannot be called without having asked:
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
    /// What was allowed.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// The authority that gave the permit, as it was then: it bounds whatever else is done within the call.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }
}

#[cfg(test)]
mod tests;
