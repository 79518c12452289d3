//! The visitor that builds a value.

use std::{fmt, ops::Range};

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Collector;
use crate::ProblemKind;

/// The key under which the `toml` crate returns a date.
const TOML_DATE: &str = "$__toml_private_datetime";

/// Reads one value.
#[derive(Clone, Copy)]
pub(crate) struct Seed<'c, 't>(pub(super) &'c Collector<'t>);

impl Seed<'_, '_> {
    fn refuse<E: Error>(self, kind: ProblemKind) -> E {
        self.refuse_at(kind, None)
    }

    /// Stops parsing. Without a place, that of the parser is displayed.
    fn refuse_at<E: Error>(self, kind: ProblemKind, place: Option<Range<usize>>) -> E {
        let error = E::custom(&kind);
        self.0.refusal.borrow_mut().get_or_insert((kind, place));
        error
    }

    fn refuse_unsupported<E: Error>(self, what: &str) -> E {
        self.refuse(ProblemKind::Unsupported { what: what.to_owned() })
    }

    fn weigh_value<E: Error>(self, value: Value) -> Result<Value, E> {
        let text = value.as_str().map_or(0, str::len);
        self.0.weigh(text).map_err(|kind| self.refuse(kind))?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.weigh_value(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.weigh_value(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.weigh_value(Value::Number(value.into()))
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Value, E> {
        Err(self.refuse_unsupported("a number of more than 64 bits"))
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Value, E> {
        Err(self.refuse_unsupported("a number of more than 64 bits"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        match Number::from_f64(value) {
            Some(number) => self.weigh_value(Value::Number(number)),
            None => Err(self.refuse_unsupported("a number that is not finite")),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.weigh_value(Value::String(value.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Value, E> {
        self.0.record_value_place(self.0.place(value));
        self.visit_str(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.weigh_value(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.weigh_value(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Value, A::Error> {
        Err(self.refuse_unsupported(super::TAG))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        self.0.weigh(0).map_err(|kind| self.refuse(kind))?;
        let mut values = Vec::new();
        loop {
            self.0.enter(&values.len().to_string(), None);
            let value = sequence.next_element_seed(self)?;
            self.0.leave();
            match value {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Value, A::Error> {
        self.0.weigh(0).map_err(|kind| self.refuse(kind))?;
        let mut values = Map::new();
        while let Some(key) = mapping.next_key_seed(KeySeed(self))? {
            if key.text == TOML_DATE && self.0.format == "TOML" {
                return mapping.next_value_seed(self);
            }
            if key.text == "<<" && self.0.format == "YAML" {
                let what = "a YAML merge key (`<<`)".to_owned();
                return Err(self.refuse_at(ProblemKind::Unsupported { what }, key.place));
            }
            let repeated = values.contains_key(&key.text);
            if repeated {
                self.0.duplicate(&key.text, key.place.clone());
            }
            self.0.enter(&key.text, key.place);
            let value = mapping.next_value_seed(self)?;
            self.0.leave();
            if !repeated {
                values.insert(key.text, value);
            }
        }
        Ok(Value::Object(values))
    }
}

/// A key, and its place if the source contains it literally.
struct Key {
    text: String,
    place: Option<Range<usize>>,
}

/// Reads one key.
struct KeySeed<'c, 't>(Seed<'c, 't>);

impl KeySeed<'_, '_> {
    fn key<E: Error>(self, text: &str, place: Option<Range<usize>>) -> Result<Key, E> {
        let seed = self.0;
        seed.0.weigh(text.len()).map_err(|kind| seed.refuse(kind))?;
        Ok(Key { text: text.to_owned(), place })
    }

    fn not_text<E: Error>(self) -> Result<Key, E> {
        Err(self.0.refuse_unsupported("a key that is not text"))
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_, '_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'_, '_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Key, E> {
        let place = self.0.0.place(value);
        self.key(value, place)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Key, E> {
        self.key(value, None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Key, E> {
        self.not_text()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Key, E> {
        self.not_text()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Key, E> {
        self.not_text()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Key, E> {
        self.not_text()
    }

    fn visit_unit<E: Error>(self) -> Result<Key, E> {
        self.not_text()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Key, A::Error> {
        self.not_text()
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Key, A::Error> {
        self.not_text()
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Key, A::Error> {
        Err(self.0.refuse_unsupported(super::TAG))
    }
}
