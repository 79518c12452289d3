//! The forms of values in JSON that several records share.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::VariantArray;

/// A value that JSON holds as its text.
#[derive(Debug)]
pub(crate) struct Shown<T>(pub(crate) T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Shown<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

/// Returns the value with a name. `kind` says what the name must be.
pub(crate) fn value_named<T: VariantArray + Copy + Into<&'static str>>(
    name: &str,
    kind: &str,
) -> Result<T, String> {
    let mut values = T::VARIANTS.iter().copied();
    let value = values.find(|value| (*value).into() == name);
    value.ok_or_else(|| format!("`{name}` is not {kind}"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}
