//! The order of calls: an item that a call brings into the thread bounds the calls after it by its signer (SPEC D16, 2.7).

use std::collections::HashMap;
use std::fmt;

use rye_caps::{Capability, Layer, LayerName, Pattern};
use rye_resolve::ItemId;
use rye_types::ItemKind;

use super::items::CalledItems;
use super::{NeedSource, Needs, TakenItem};

/// A need of a step that the signer of an item denies, which a call before it brings into the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaterRefusal {
    /// The need.
    pub(crate) need: Pattern,
    /// The step, child or executed directive that needs it.
    pub(crate) source: NeedSource,
    /// The need itself, or a function that it stands for.
    pub(crate) denied: Pattern,
    /// The item that a call brings in.
    pub(crate) taken: (ItemKind, ItemId),
    /// The step that executes the item.
    pub(crate) taken_by: NeedSource,
    /// The item that the key signed: the one that is brought in, or one of its chain or its context.
    pub(crate) signed: String,
    /// The key that may not grant the need.
    pub(crate) key: LayerName,
}

impl LaterRefusal {
    /// The ways out, as a list of what to do.
    pub(crate) fn help(&self) -> String {
        let Self { signed, denied, .. } = self;
        format!(
            "read {signed} and sign it with a key that may, execute it after the calls that need more, leave it out, or add \
             `{denied}` to the `grants` of the key's trust document"
        )
    }
}

impl fmt::Display for LaterRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { need, source, denied, taken: (kind, id), taken_by, signed, key } = self;
        write!(f, "{source} needs `{need}`")?;
        if need != denied {
            write!(f, ", which stands for `{denied}`")?;
        }
        let item = format!("{kind} `{id}`");
        write!(f, ", and {taken_by} executes {item} before")?;
        match item == *signed {
            true => write!(f, ": {key}, which signed it, may not grant `{denied}`"),
            false => write!(f, ": {key}, which signed {signed} of it, may not grant `{denied}`"),
        }
    }
}

/// Returns the needs of steps that are denied because of items which calls before them bring in. `functions` returns the
/// functions that a needed tool stands for (SPEC 9.6b).
pub(crate) fn refused_later(
    needs: &Needs,
    items: &dyn CalledItems,
    functions: impl Fn(&Pattern) -> Vec<Capability>,
) -> Vec<LaterRefusal> {
    let mut bounds: HashMap<(ItemKind, &ItemId), Vec<(String, Layer)>> = HashMap::new();
    for TakenItem { kind, id, .. } in &needs.taken {
        bounds.entry((*kind, id)).or_insert_with(|| items.bounds_of_taken(*kind, id));
    }
    let mut refusals: Vec<LaterRefusal> = Vec::new();
    for later in &needs.later {
        let functions = functions(&later.pattern);
        let before = needs.taken.iter().take(later.taken);
        let refusal = before.flat_map(|taken| {
            let of_item = bounds.get(&(taken.kind, &taken.id)).map_or(&[][..], Vec::as_slice);
            of_item.iter().filter_map(|(signed, layer)| {
                Some(LaterRefusal {
                    need: later.pattern.clone(),
                    source: later.source.clone(),
                    denied: denied_part(layer, &later.pattern, &functions)?,
                    taken: (taken.kind, taken.id.clone()),
                    taken_by: taken.source.clone(),
                    signed: signed.clone(),
                    key: layer.name().clone(),
                })
            })
        });
        let refusal = refusal.into_iter().next();
        refusals.extend(refusal.filter(|refusal| !refusals.contains(refusal)));
    }
    refusals
}

/// The part of a need that the layer denies.
fn denied_part(layer: &Layer, need: &Pattern, functions: &[Capability]) -> Option<Pattern> {
    if !layer.grant().patterns().iter().any(|own| own.meets(need)) {
        return Some(need.clone());
    }
    functions.iter().find(|function| !layer.grant().allows(function)).map(Pattern::exactly)
}
