//! The refusal of a call.

use std::{error, fmt};

use super::LayerName;
use crate::{capability::Capability, pattern::Pattern};

/// A capability that is not allowed.
///
/// Its `Display` says, for each layer that refuses, how to allow the capability there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denied {
    /// The refused capability.
    pub capability: Capability,
    /// The requested item, if the refused capability is a function that the item stands for.
    pub item: Option<Capability>,
    /// The outermost layer that refuses.
    pub layer: LayerName,
    /// The further layers that refuse, outermost first.
    pub others: Vec<LayerName>,
    /// The smallest pattern that allows the capability, if it is added to each of these layers.
    pub smallest: Pattern,
}

impl Denied {
    /// Returns advice on how to allow the capability in `layer`.
    fn advice(&self, layer: &LayerName) -> String {
        let Self { capability, smallest, .. } = self;
        match layer {
            LayerName::Nobody => {
                "run it with an authority that is narrowed from the operator's".to_owned()
            }
            LayerName::Operator | LayerName::Project => {
                format!("add `{smallest}` to the `grants` of its `config/trust.yaml`")
            }
            LayerName::Signer(_) => {
                format!("add `{smallest}` to the `grants` of its trust document")
            }
            LayerName::Directive(_) => {
                let primary = capability.primary();
                let kind = capability.kind();
                let id = capability.dotted_id();
                format!("add `<{primary}><{kind}>{id}</{kind}></{primary}>` to its `<permissions>`")
            }
            LayerName::Thread(_) => format!("start it with `{smallest}` granted"),
            LayerName::Client => format!("the operator allows it with `--allow {smallest}`"),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, item, layer, others, .. } = self;
        write!(f, "`{capability}`")?;
        if let Some(item) = item {
            write!(f, ", which `{item}` stands for,")?;
        }
        write!(f, " is not allowed by {layer} ({})", self.advice(layer))?;
        others.iter().try_for_each(|layer| write!(f, ", nor by {layer} ({})", self.advice(layer)))
    }
}

impl error::Error for Denied {}
