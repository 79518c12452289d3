//! Items that calls add to a conversation, each with the most that its signer may grant (SPEC D16).

pub(crate) mod disk;

use rye_caps::{Authority, Grant, Layer, LayerName};
use serde_json::{Map, Value};

use self::disk::added;
use crate::transcript::Reading;

/// An item whose text a call added to the conversation of its thread.
///
/// From the receipt of that call on, the thread may do no more than the item's signer may grant, because the item steers
/// the model as the directive of the thread does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AddedItem {
    /// The record of the item, such as its kind, id and digest; only the caller reads it.
    pub facts: Map<String, Value>,
    /// The id of the key that signed it; `None` for an item without a signature.
    pub key_id: Option<String>,
    /// The most that items of that key may be granted: each of these grants has to allow a call.
    pub grants: Vec<Grant>,
}

impl AddedItem {
    /// An item whose signer has no bound.
    #[must_use]
    pub const fn new(facts: Map<String, Value>) -> Self {
        Self { facts, key_id: None, grants: Vec::new() }
    }

    /// The same item, bounded by the grants of its signer.
    #[must_use]
    pub fn signed_by(self, key_id: &str, grants: Vec<Grant>) -> Self {
        Self { key_id: Some(key_id.to_owned()), grants, ..self }
    }

    /// Returns the authority under the layers of the item, which never allows more than `authority`.
    #[must_use]
    pub fn narrow(&self, authority: &Authority) -> Authority {
        let name = LayerName::Signer(self.key_id.clone().unwrap_or_default());
        self.grants.iter().fold(authority.clone(), |authority, grant| {
            let layer = Layer::new(name.clone(), grant.clone());
            if authority.layers().contains(&layer) { authority } else { authority.narrow(layer) }
        })
    }
}

/// The items that calls of a thread added to its conversation, in their order, as its transcript holds them; `None` when one
/// cannot be read.
#[must_use]
pub fn added_items(reading: &Reading) -> Option<Vec<AddedItem>> {
    let receipts = reading.records.iter().filter(|record| record.event == "tool_call_result");
    let each: Option<Vec<_>> = receipts.map(|record| added(record).ok()).collect();
    Some(each?.concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rye_caps::{Capability, Pattern};

    use super::*;

    fn grant() -> impl Strategy<Value = Grant> {
        let pattern = prop::sample::select(vec![
            "rye.*",
            "rye.execute.*",
            "rye.execute.tool.a.*",
            "rye.execute.tool.a.b",
            "rye.execute.directive.*",
            "rye.load.knowledge.?",
        ]);
        let pattern = pattern.prop_map(|text| text.parse::<Pattern>().unwrap());
        prop::collection::vec(pattern, 0..3).prop_map(|patterns| patterns.into_iter().collect())
    }

    proptest! {
        #[test]
        fn an_added_item_never_widens_and_bounds_what_follows(
            own in grant(),
            grants in prop::collection::vec(grant(), 0..3),
            capability in prop::sample::select(vec![
                "rye.execute.tool.a.b",
                "rye.execute.tool.a.c",
                "rye.execute.tool.b",
                "rye.execute.directive.a",
                "rye.load.knowledge.k",
            ]),
        ) {
            let capability: Capability = capability.parse().unwrap();
            let authority = Authority::new(Layer::new(LayerName::Operator, own));
            let item = AddedItem::new(Map::new()).signed_by("k", grants.clone());
            let allowed = grants.iter().all(|grant| grant.allows(&capability));
            let narrowed = item.narrow(&authority);
            prop_assert_eq!(narrowed.allows(&capability), authority.allows(&capability) && allowed);
            prop_assert_eq!(&item.narrow(&narrowed), &narrowed);
            let read = AddedItem::from_json(&item.to_json()).unwrap();
            prop_assert_eq!(read, item);
        }
    }
}
