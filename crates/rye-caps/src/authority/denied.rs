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
    /// The smallest pattern that allows the capability, if it is added to each of these layers.
    pub smallest: Pattern,
    /// Every layer that refuses a part of the call, outermost first, with the smallest patterns that it lacks for the whole
    /// call. A call consists of the item and the functions that the item stands for.
    pub refusing: Vec<(LayerName, Vec<Pattern>)>,
}

/// The way to allow one item and not the whole function behind it.
const NARROWER: &str = "that allows the whole function behind the tool as well, such as every command of a shell; a directive \
                        that calls the tool needs only `--allow rye.execute.directive.ID`";

impl Denied {
    /// The further layers that refuse the capability, outermost first.
    pub fn others(&self) -> impl Iterator<Item = &LayerName> {
        let refuses = self.refusing.iter().filter(|(_, lacks)| lacks.contains(&self.smallest));
        refuses.map(|(layer, _)| layer).skip(1)
    }

    /// Returns `true` if one of the patterns is for a function that the requested item stands for.
    fn lacks_function(&self, lacks: &[Pattern]) -> bool {
        let item = self.item.as_ref().unwrap_or(&self.capability);
        lacks.iter().any(|pattern| !pattern.matches(item))
    }

    /// Returns advice on how to allow all of the call in `layer`.
    fn advice(&self, layer: &LayerName, lacks: &[Pattern]) -> String {
        let patterns: Vec<String> = lacks.iter().map(|pattern| format!("`{pattern}`")).collect();
        let patterns = patterns.join(", ");
        match layer {
            LayerName::Nobody => {
                "run it with an authority that is narrowed from the operator's".to_owned()
            }
            LayerName::Operator | LayerName::Project => {
                format!("add {patterns} to the `grants` of its `config/trust.yaml`")
            }
            LayerName::Signer(_) => format!("add {patterns} to the `grants` of its trust document"),
            LayerName::Directive(_) => {
                // A directive's permissions are about items alone.
                let item = self.item.as_ref().unwrap_or(&self.capability);
                let primary = item.primary();
                let kind = item.kind();
                let id = item.dotted_id();
                format!("add `<{primary}><{kind}>{id}</{kind}></{primary}>` to its `<permissions>`")
            }
            LayerName::Thread(_) => format!("start it with {patterns} granted"),
            LayerName::Client => {
                let options: Vec<String> =
                    lacks.iter().map(|pattern| format!("--allow {pattern}")).collect();
                let way = format!("the operator allows it with `{}`", options.join(" "));
                if self.lacks_function(lacks) { format!("{way}; {NARROWER}") } else { way }
            }
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, item, refusing, .. } = self;
        write!(f, "`{capability}`")?;
        if let Some(item) = item {
            write!(f, ", which `{item}` stands for,")?;
        }
        let mut lead = " is not allowed by";
        for (layer, lacks) in refusing {
            write!(f, "{lead} {layer} ({})", self.advice(layer, lacks))?;
            lead = ", nor by";
        }
        Ok(())
    }
}

impl error::Error for Denied {}
