//! Items that calls add to a conversation, with the bounds of their signers (SPEC D16).

use rye_caps::{Authority, Grant, Layer, LayerName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An item whose text a call added to the conversation of its thread.
///
/// The item steers the model as the directive does. So the authority of the thread is narrowed from the receipt of that
/// call on: it may do no more than the signer of the item may grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AddedItem {
    /// The facts about the item, such as its kind, id and digest. Only the caller reads them.
    #[serde(rename = "item")]
    pub facts: Map<String, Value>,
    /// The id of the key that signed the item, or `None` for an unsigned item.
    pub key_id: Option<String>,
    /// The bounds of the signer. Each of these grants must allow a call.
    #[serde(with = "patterns")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Vec<String>>"))]
    pub grants: Vec<Grant>,
}

impl AddedItem {
    /// Creates an item whose signer has no bound.
    #[must_use]
    pub const fn new(facts: Map<String, Value>) -> Self {
        Self { facts, key_id: None, grants: Vec::new() }
    }

    /// Sets the signer of the item and the grants that bound it.
    #[must_use]
    pub fn signed_by(self, key_id: &str, grants: Vec<Grant>) -> Self {
        Self { key_id: Some(key_id.to_owned()), grants, ..self }
    }

    /// Returns `authority` narrowed by the grants of the item.
    #[must_use]
    pub fn narrow(&self, authority: &Authority) -> Authority {
        let name = LayerName::Signer(self.key_id.clone().unwrap_or_default());
        self.grants.iter().fold(authority.clone(), |authority, grant| {
            let layer = Layer::new(name.clone(), grant.clone());
            if authority.layers().contains(&layer) { authority } else { authority.narrow(layer) }
        })
    }

    /// Returns the item as records store it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("because every part of it is plain JSON")
    }

    /// Reads the form that [`AddedItem::to_json`] returns.
    ///
    /// # Errors
    ///
    /// The reason in words, if the value has another form.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        Self::deserialize(value).map_err(|error| error.to_string())
    }
}

/// Grants as lists of their patterns.
mod patterns {
    use rye_caps::{Grant, Pattern};
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        grants: &[Grant],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let patterns =
            |grant: &Grant| grant.patterns().iter().map(ToString::to_string).collect::<Vec<_>>();
        grants.iter().map(patterns).collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Grant>, D::Error> {
        let grant = |patterns: &Vec<String>| {
            let patterns = patterns.iter().map(|text| text.parse::<Pattern>());
            patterns.collect::<Result<Grant, _>>().map_err(D::Error::custom)
        };
        Vec::<Vec<String>>::deserialize(deserializer)?.iter().map(grant).collect()
    }
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
