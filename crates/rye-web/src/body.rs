//! The body of a tool's request, with placeholders for arguments.

use serde_json::{Map, Value};

use crate::template::{ArgumentFault, name_of, single};
use rye_sandbox::{Placing, Template};

/// A body with placeholders for arguments.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "these are the shapes of JSON")]
pub enum HttpBody {
    /// Text. If it is a single placeholder, the argument takes its place unchanged, whatever its type.
    Text(Template),
    /// A number, a boolean or null.
    Plain(Value),
    /// A list.
    List(Vec<HttpBody>),
    /// Names and values. A member is left out if its value is a placeholder without an argument.
    Object(Vec<(String, HttpBody)>),
}

impl HttpBody {
    pub(crate) fn names<'a>(&'a self, placed: &mut Vec<&'a str>) {
        match self {
            Self::Text(text) => placed.extend(text.names()),
            Self::Plain(_) => {}
            Self::List(all) => all.iter().for_each(|one| one.names(placed)),
            Self::Object(all) => all.iter().for_each(|(_, one)| one.names(placed)),
        }
    }

    /// Returns the body with the arguments in their places, or `None` if it is a placeholder without an
    /// argument.
    pub(crate) fn value(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Value>, ArgumentFault> {
        match self {
            Self::Plain(value) => Ok(Some(value.clone())),
            Self::Text(text) => match text.pieces() {
                [place @ (Placing::Needed(_) | Placing::Optional(..))] => whole(place, arguments),
                pieces => pieces
                    .iter()
                    .map(|piece| within(piece, arguments))
                    .collect::<Result<String, _>>()
                    .map(|text| Some(text.into())),
            },
            Self::List(all) => {
                let values = all.iter().map(|one| Ok(one.value(arguments)?.unwrap_or_default()));
                values.collect::<Result<Vec<_>, _>>().map(|all| Some(all.into()))
            }
            Self::Object(all) => {
                let mut object = Map::new();
                for (name, one) in all {
                    if let Some(value) = one.value(arguments)? {
                        object.insert(name.clone(), value);
                    }
                }
                Ok(Some(object.into()))
            }
        }
    }
}

/// Returns the argument unchanged.
fn whole(place: &Placing, arguments: &Map<String, Value>) -> Result<Option<Value>, ArgumentFault> {
    let given = name_of(place).and_then(|name| arguments.get(name));
    match given.filter(|value| !value.is_null()) {
        Some(value) => Ok(Some(value.clone())),
        None => Ok(single(place, arguments, "a body")?.map(Value::from)),
    }
}

/// Returns the argument as a part of a text.
fn within(piece: &Placing, arguments: &Map<String, Value>) -> Result<String, ArgumentFault> {
    let given = name_of(piece).and_then(|name| arguments.get(name));
    match given {
        Some(value @ (Value::Array(_) | Value::Object(_))) => Ok(value.to_string()),
        _ => Ok(single(piece, arguments, "a body")?.unwrap_or_default()),
    }
}
