//! Why a call may not be made.

use std::{error, fmt};

use super::LayerName;
use crate::{capability::Capability, pattern::Pattern};

/// A capability that was asked for and is not allowed.
///
/// Its `Display` says for each layer that refuses what has to be added there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denied {
    /// What is refused.
    pub capability: Capability,
    /// The item that was asked for, where what is refused is a function that it stands for.
    pub item: Option<Capability>,
    /// The outermost layer that refuses it.
    pub layer: LayerName,
    /// The further layers that refuse it, outermost first.
    pub others: Vec<LayerName>,
    /// The smallest pattern that would allow it, where it is added to each of these layers.
    pub smallest: Pattern,
}

impl Denied {
    /// What the one who is behind `layer` can do.
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
                let (primary, kind, id) =
                    (capability.primary(), capability.kind(), capability.dotted_id());
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
