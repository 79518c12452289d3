//! JSON whose values keep their bytes, with limits on what is parsed.

use std::fmt;
use std::marker::PhantomData;

use rye_thread::{count_json_values, mend_halves};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::halves;

/// The members of an object in their order. The values keep their bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// The members of a value, or none if it is not an object.
    pub(crate) fn of(value: &RawValue) -> Self {
        serde_json::from_str(value.get()).unwrap_or_default()
    }

    /// The number of bytes of all names and values.
    pub(crate) fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.get().len()).sum()
    }

    /// The value of a member. Of members with the same name the last counts, as in JSON parsers.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// The text of a member, if it is a JSON string. A lone half of a character in it is read as U+FFFD.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        halves::text(self.get(name)?.get())
    }

    /// Returns `true` if a member is missing or `null`.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.get(name).is_none_or(|value| value.get() == "null")
    }

    /// Sets a member of an object that is being assembled. Returns an error if the object has too many
    /// members.
    pub(crate) fn grow(&mut self, name: &str, value: Box<RawValue>) -> serde_json::Result<()> {
        if MOST_MEMBERS <= self.0.len() && self.get(name).is_none() {
            return Err(too_many_members());
        }
        self.set(name, value);
        Ok(())
    }

    /// Replaces the value of a member, or adds the member at the end.
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

    /// Writes compact JSON around the unchanged values.
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        raw(&self)
    }
}

/// The largest number of members of a parsed object. It is bounded because members are found by linear
/// search; no protocol has half as many.
pub(crate) const MOST_MEMBERS: usize = 100;

pub(crate) fn too_many_members<E: serde::de::Error>() -> E {
    E::custom(format_args!("an object of the answer has more than {MOST_MEMBERS} members"))
}

/// A list with a bounded number of entries: parts, choices or calls. `null` is an empty list.
#[derive(Debug)]
pub(crate) struct Few<T>(pub(crate) Vec<T>);

/// The largest number of entries of such a list. It is bounded because an entry takes many times the memory
/// of its shortest text.
pub(crate) const MOST_ENTRIES: usize = 10_000;

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Few<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_none<E>(self) -> Result<Few<T>, E> {
                Ok(Few::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, list: D) -> Result<Few<T>, D::Error> {
                list.deserialize_seq(self)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    if MOST_ENTRIES <= entries.len() {
                        return Err(too_many_entries());
                    }
                    entries.push(entry);
                }
                Ok(Few(entries))
            }
        }
        deserializer.deserialize_option(Entries(PhantomData))
    }
}

pub(crate) fn too_many_entries<E: serde::de::Error>() -> E {
    E::custom(format_args!("the answer has more than {MOST_ENTRIES} parts"))
}

/// A JSON value that is parsed whole, with a bounded number of values in it.
#[derive(Debug, Default)]
pub(crate) struct Small(pub(crate) Value);

impl<'de> Deserialize<'de> for Small {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let mended = mend_halves(raw.get());
        small(mended.as_deref().unwrap_or(raw.get())).map(Self).map_err(D::Error::custom)
    }
}

/// Parses JSON with at most [`MOST_VALUES`] values, because a value takes many times the memory of its
/// shortest text.
pub(crate) fn small(json: &str) -> serde_json::Result<Value> {
    if MOST_VALUES < count_json_values(json.as_bytes()) {
        let message = format_args!("there are more than {MOST_VALUES} values");
        return Err(serde_json::Error::custom(message));
    }
    serde_json::from_str(json)
}

/// The largest number of values in arguments, errors and other JSON that is parsed whole.
pub(crate) const MOST_VALUES: usize = 100_000;

/// Returns the `type` of a part of an answer.
pub(crate) fn kind(part: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<Kind>(part.get()).ok().map(|part| part.kind)
}

/// Returns the index of the first block that has a vendor's signature and half of a character. To mend it
/// would make the signature wrong, and a block with half of a character is not accepted again.
pub(crate) fn find_damaged<'a>(blocks: impl IntoIterator<Item = &'a RawValue>) -> Option<usize> {
    let is_damaged =
        |block: &RawValue| mend_halves(block.get()).is_some() && is_signed(&RawObject::of(block));
    blocks.into_iter().position(is_damaged)
}

/// Returns `true` if a block has a vendor's signature.
pub(crate) fn is_signed(block: &RawObject) -> bool {
    let is_said = |name: &&str| block.get(name).is_some_and(|value| !says_nothing(value));
    SIGNATURES.iter().any(is_said)
}

/// Returns `true` for `null` and for an empty text.
pub(crate) fn says_nothing(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "\"\"")
}

/// The members of blocks that hold signatures. Compatible servers put theirs into `extra_content`.
const SIGNATURES: [&str; 5] =
    ["encrypted_content", "extra_content", "signature", "thoughtSignature", "thought_signature"];

/// Returns a value as it is recorded: as received, but with lone halves of characters replaced, and with arrays
/// and objects below [`MOST_LEVELS`] emptied, so that JSON parsers can read every record.
pub(crate) fn keep_readable(value: &RawValue) -> Box<RawValue> {
    let mended = mend_halves(value.get()).and_then(|mended| RawValue::from_string(mended).ok());
    let value = mended.as_deref().unwrap_or(value);
    let text = value.get();
    let mut kept = String::new();
    let mut from = 0;
    let mut level = 0_usize;
    let mut places = text.bytes().enumerate();
    while let Some((at, byte)) = places.next() {
        match byte {
            b'"' => {
                while let Some((_, byte)) = places.next().filter(|(_, byte)| *byte != b'"') {
                    let _escaped = (byte == b'\\').then(|| places.next());
                }
            }
            b'[' | b'{' => {
                level += 1;
                if level == MOST_LEVELS + 1 {
                    kept.push_str(text.get(from..=at).unwrap_or_default());
                }
            }
            b']' | b'}' => {
                if level == MOST_LEVELS + 1 {
                    from = at;
                }
                level = level.saturating_sub(1);
            }
            _ => {}
        }
    }
    if kept.is_empty() {
        return value.to_owned();
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    RawValue::from_string(kept).unwrap_or_else(|_| value.to_owned())
}

/// Most JSON parsers read 128 levels, and a record has some levels around an answer.
const MOST_LEVELS: usize = 96;

/// Serializes a value that always has a JSON text.
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
                    if MOST_MEMBERS <= members.len() {
                        return Err(too_many_members());
                    }
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
    fn what_is_too_deep_for_readers_is_kept_empty() {
        let nested = |levels: usize, inner: &str| {
            format!("{}{inner}{}", r#"["[",{"a\"":"#.repeat(levels / 2), "}]".repeat(levels / 2))
        };
        for (text, expected) in [
            (nested(96, "1"), nested(96, "1")),
            (nested(96, "[]"), nested(96, "[]")),
            (nested(96, "{ }"), nested(96, "{}")),
            (nested(98, "1"), nested(96, "[]")),
            (nested(500, "1"), nested(96, "[]")),
            (nested(96, r#"[[1],"]"],{"]":2}"#), String::new()),
            (format!("[{},{}, 1]", nested(98, "1"), nested(98, "2")), String::new()),
        ] {
            let Ok(value) = RawValue::from_string(text.clone()) else { continue };
            let kept = keep_readable(&value);
            assert!(expected.is_empty() || kept.get() == expected, "{text}: {kept}");
            assert!(serde_json::from_str::<serde_json::Value>(kept.get()).is_ok(), "{kept}");
        }
    }

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
