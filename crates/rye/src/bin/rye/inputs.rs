//! Inputs as a person types them.

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// The inputs of a directive.
#[derive(Debug, Args)]
pub(crate) struct Given {
    /// An input of the directive (may be given many times); text becomes the declared type
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    inputs: Vec<NameAndValue>,
}

#[derive(Debug, Clone)]
struct NameAndValue {
    name: String,
    value: String,
}

impl FromStr for NameAndValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("write it as NAME=VALUE".to_owned()),
        }
    }
}

/// The values by name; a name that is given twice is a failure, not a guess.
pub(crate) fn bound(given: &Given) -> Result<BTreeMap<String, Value>, Failure> {
    let mut inputs = BTreeMap::new();
    for NameAndValue { name, value } in &given.inputs {
        if inputs.insert(name.clone(), Value::from(value.as_str())).is_some() {
            return Err(Failure::usage(format!("input `{name}` is given twice")));
        }
    }
    Ok(inputs)
}
