//! The capabilities that one call needs.

use std::{iter, str::FromStr};

use crate::{
    capability::{Capability, CapabilityError},
    grant::Grant,
};

/// A called item with the functions that it stands for (`SPEC 9.6b`).
///
/// A tool may be another name for a function of the program, a command, a request or a tool of a server. An
/// [`Authority`](crate::Authority) checks both, so that a second name does not evade a rule about the first.
///
/// ```
/// use rye_caps::{Authority, Capability, Grant, Invocation, Layer, LayerName};
///
/// let wrapper: Capability = "rye.execute.tool.ops.deploy".parse()?;
/// let shell: Capability = "rye.execute.tool.rye.bash.bash".parse()?;
/// let deploy = Invocation::new(wrapper.clone(), [shell]);
///
/// // A directive grants the wrapper by its id. The operator's rules apply to the shell behind it.
/// let everything = Layer::new(LayerName::Operator, Grant::everything());
/// let wrappers = || Grant::of_items("execute", "tool", "ops.*");
/// let directive = Layer::new(LayerName::Directive("release".to_owned()), wrappers()?);
/// assert!(Authority::new(everything).narrow(directive).permit(&deploy).is_ok());
///
/// let operator = Authority::new(Layer::new(LayerName::Operator, wrappers()?));
/// assert!(operator.permit(&deploy).is_err());
/// assert!(operator.permit(&wrapper.into()).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    item: Capability,
    /// Invariant: no duplicates, and not the item's own capability.
    functions: Vec<Capability>,
}

impl Invocation {
    /// Makes a call of `item`, which stands for `functions`.
    pub fn new(item: Capability, functions: impl IntoIterator<Item = Capability>) -> Self {
        let mut invocation = Self::from(item);
        for function in functions {
            if invocation.capabilities().all(|known| *known != function) {
                invocation.functions.push(function);
            }
        }
        invocation
    }

    /// The capability of the item itself.
    pub fn item(&self) -> &Capability {
        &self.item
    }

    /// The capabilities of the functions behind the item, without the item's own.
    pub fn functions(&self) -> &[Capability] {
        &self.functions
    }

    /// The item's capability, then those of its functions.
    pub fn capabilities(&self) -> impl Iterator<Item = &Capability> {
        iter::once(&self.item).chain(&self.functions)
    }

    /// Returns `true` if `grant` covers the item or a function behind it. Use it for rules that restrict.
    pub fn meets(&self, grant: &Grant) -> bool {
        self.capabilities().any(|capability| grant.allows(capability))
    }
}

/// A call of an item that stands for nothing else.
impl From<Capability> for Invocation {
    fn from(item: Capability) -> Self {
        Self { item, functions: Vec::new() }
    }
}

/// A call of an item that stands for nothing else.
impl FromStr for Invocation {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Capability>().map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(id: &str) -> Capability {
        format!("rye.execute.tool.{id}").parse().unwrap()
    }

    #[test]
    fn a_call_needs_each_capability_once() {
        let functions = ["a", "t", "b", "a"].map(capability);
        let invocation = Invocation::new(capability("t"), functions);
        assert_eq!(invocation.item(), &capability("t"));
        assert_eq!(invocation.functions(), ["a", "b"].map(capability));
        let all: Vec<_> = invocation.capabilities().cloned().collect();
        assert_eq!(all, ["t", "a", "b"].map(capability));
        let plain: Invocation = "rye.execute.tool.t".parse().unwrap();
        assert_eq!(plain, capability("t").into());
    }

    #[test]
    fn a_rule_meets_a_call_by_its_item_or_by_a_function() {
        let invocation = Invocation::new(capability("t"), ["a", "b"].map(capability));
        for (items, expected) in
            [("t", true), ("b", true), ("?", true), ("c", false), ("t.?", false)]
        {
            let grant = Grant::of_items("execute", "tool", items).unwrap();
            assert_eq!(invocation.meets(&grant), expected, "{items}");
        }
    }
}
