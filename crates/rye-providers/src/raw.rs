//! JSON objects whose values stay as they were received.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// The members of an object in their order, each value byte for byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// The value of a member; of two with one name the last, as JSON readers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// The text of a member that is a JSON string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Whether a member is missing or `null`.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.get(name).is_none_or(|value| value.get() == "null")
    }

    /// Puts a value in the place of the member's old one, or at the end.
    pub(crate) fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().rev().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, text_value(text));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    pub(crate) fn members(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.0.into_iter()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Compact JSON around the values as they are.
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        raw(&self)
    }
}

/// What a part of an answer calls itself: its `type`.
pub(crate) fn kind(part: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<Kind>(part.get()).ok().map(|part| part.kind)
}

/// The JSON of a value that surely has one.
pub(crate) fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("because text, numbers and raw JSON have a JSON text")
}

pub(crate) fn text_value(text: &str) -> Box<RawValue> {
    raw(&text)
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawObject(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_are() {
        let text = r#"{"z":1e400,"a":[ 1,  2 ],"t":"\u00e9","a":null}"#;
        let mut object: RawObject = serde_json::from_str(text).unwrap();
        assert_eq!(object.clone().into_raw().get(), text);
        assert_eq!((object.text("t").as_deref(), object.lacks("a")), (Some("é"), true));
        object.set_text("t", "x");
        object.set_text("new", "y");
        object.remove("a");
        assert_eq!(object.into_raw().get(), r#"{"z":1e400,"t":"x","new":"y"}"#);
    }
}
