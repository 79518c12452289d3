//! The saved form of added items, shared by receipts and the records of continued threads.

use rye_caps::{Grant, Pattern};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::AddedItem;

/// The saved form of an [`AddedItem`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddedDisk {
    item: Map<String, Value>,
    key_id: Option<String>,
    grants: Vec<Vec<String>>,
}

impl AddedDisk {
    pub(crate) fn of(added: &AddedItem) -> Self {
        let patterns =
            |grant: &Grant| grant.patterns().iter().map(ToString::to_string).collect::<Vec<_>>();
        Self {
            item: added.facts.clone(),
            key_id: added.key_id.clone(),
            grants: added.grants.iter().map(patterns).collect(),
        }
    }

    /// Returns the item.
    ///
    /// # Errors
    ///
    /// The reason in words, if a pattern of a grant is none.
    pub(crate) fn into_added(self) -> Result<AddedItem, String> {
        let grant = |patterns: &Vec<String>| {
            let patterns = patterns.iter().map(|text| text.parse::<Pattern>());
            patterns.collect::<Result<Grant, _>>().map_err(|error| error.to_string())
        };
        let grants = self.grants.iter().map(grant).collect::<Result<_, _>>()?;
        Ok(AddedItem { facts: self.item, key_id: self.key_id, grants })
    }
}

impl AddedItem {
    /// Returns the item as records store it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(AddedDisk::of(self)).expect("because every part of it is plain JSON")
    }

    /// Reads the form that [`AddedItem::to_json`] returns.
    ///
    /// # Errors
    ///
    /// The reason in words, if the value has another form.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        AddedDisk::deserialize(value).map_err(|error| error.to_string())?.into_added()
    }
}
