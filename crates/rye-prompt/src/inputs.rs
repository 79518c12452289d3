//! The check of given values against declared inputs (SPEC 6.1).

mod coerce;
mod error;

use std::collections::BTreeMap;

use rye_parse::{Input, Spanned, nearest_name, placeholders};
use serde_json::Value;

pub(crate) use self::coerce::coerce;
use self::coerce::{describe, is_chosen};
pub use self::error::{BindError, BindProblem, ValueOrigin};

/// Values for a directive's declared inputs, each of its declared type.
///
/// An optional input without a given value and without a default is absent. The default of this type has no values,
/// which fits a directive without inputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    // Invariant: every value has the type that its input declares and, if the input declares choices, is one of them; but for those
    // of `bind_known`, which are never rendered.
    values: BTreeMap<String, Value>,
}

impl Inputs {
    /// Checks `given` against `declared`, adds defaults, and converts text to the declared types.
    ///
    /// Text is converted to the declared type (`"3"` to an integer, `"[1]"` to an array), and numbers and booleans to
    /// text. A whole number such as `3.0` is accepted as an integer. Other conversions do not exist. A directive
    /// without declared inputs accepts none.
    ///
    /// # Errors
    ///
    /// Reports all problems at once: unknown names, missing required values, values of the wrong type, and values that
    /// are not one of the choices. A declared default that would be used, but does not fit, is a problem as well.
    pub fn bind(
        declared: &[Spanned<Input>],
        given: &BTreeMap<String, Value>,
    ) -> Result<Self, BindError> {
        let mut problems = unknown(declared, given);
        let mut values = BTreeMap::new();
        for input in declared.iter().map(|input| &input.value) {
            match bind_one(input, given.get(&input.name.value)) {
                Ok(Some(value)) => drop(values.insert(input.name.value.clone(), value)),
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            Ok(Self { values })
        } else {
            Err(BindError::new(problems, declared))
        }
    }

    /// Takes the values that are known before a run gives all. An input whose value is not known has its own placeholder as its value.
    pub(crate) fn bind_known(declared: &[Spanned<Input>], given: &BTreeMap<String, Value>) -> Self {
        let is_open = |value: &&Value| !placeholders(&value.to_string()).is_empty();
        let known = |input: &Input| {
            let name = input.name.value.clone();
            let unknown = Value::from(format!("{{input:{name}}}"));
            let given = given.get(&name);
            let value = match given.filter(is_open) {
                Some(_) => Some(unknown),
                None => bind_one(input, given).unwrap_or(Some(unknown)),
            };
            value.map(|value| (name, value))
        };
        Self { values: declared.iter().filter_map(|input| known(&input.value)).collect() }
    }

    /// Returns the value of one input; `None` if the input is absent or not declared.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// All present values by input name, sorted by name.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }
}

fn unknown(declared: &[Spanned<Input>], given: &BTreeMap<String, Value>) -> Vec<BindProblem> {
    let names: Vec<&str> = declared.iter().map(|input| input.value.name.value.as_str()).collect();
    given
        .keys()
        .filter(|name| !names.contains(&name.as_str()))
        .map(|name| BindProblem::Unknown {
            name: name.clone(),
            suggestion: nearest_name(name, names.iter().copied()).map(str::to_owned),
        })
        .collect()
}

fn bind_one(input: &Input, given: Option<&Value>) -> Result<Option<Value>, BindProblem> {
    let name = &input.name.value;
    let (value, origin) = match (given, &input.default) {
        (Some(value), _) => (value.clone(), ValueOrigin::Given),
        (None, Some(default)) => (Value::from(default.value.as_str()), ValueOrigin::Default),
        (None, None) if input.required => return Err(BindProblem::Missing { name: name.clone() }),
        (None, None) => return Ok(None),
    };
    let Some(bound) = coerce(&value, input.value_type) else {
        let found = describe(&value);
        return Err(BindProblem::WrongType {
            name: name.clone(),
            origin,
            expected: input.value_type,
            found,
        });
    };
    if !is_chosen(&bound, &input.choices, input.value_type) {
        let choices = input.choices.clone();
        let found = describe(&value);
        return Err(BindProblem::NotAChoice { name: name.clone(), origin, choices, found });
    }
    Ok(Some(bound))
}
