//! The declared outputs of a directive, and the check of returned values.

use std::fmt;

use rye_types::ValueType;
use serde_json::{Map, Value, json};

/// The outputs that a directive declares, in the order of their declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputContract {
    fields: Vec<OutputField>,
}

impl OutputContract {
    /// Creates a contract. Without outputs, the directive returns only its text.
    ///
    /// # Errors
    ///
    /// [`ContractError`] if a name is declared twice.
    pub fn new(fields: Vec<OutputField>) -> Result<Self, ContractError> {
        let duplicate = fields.iter().enumerate().find(|(index, field)| {
            fields.iter().take(*index).any(|other| other.name == field.name)
        });
        match duplicate {
            Some((_, field)) => Err(ContractError { name: field.name.clone() }),
            None => Ok(Self { fields }),
        }
    }

    /// Returns the declared outputs.
    #[must_use]
    pub fn fields(&self) -> &[OutputField] {
        &self.fields
    }

    /// Returns `true` if no output is declared. Then `directive_return` is not granted either (SPEC 9.2).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns `true` if the thread may not end without outputs.
    #[must_use]
    pub fn requires_outputs(&self) -> bool {
        self.fields.iter().any(|field| field.required)
    }

    /// Checks the outputs that a model returned.
    ///
    /// # Errors
    ///
    /// All problems, each as a sentence for the model: missing, unknown, or of the wrong type.
    pub fn check(&self, value: &Value) -> Result<Map<String, Value>, Vec<String>> {
        let Value::Object(given) = value else {
            return Err(vec![format!("outputs must be an object, not {}", type_of(value))]);
        };
        let mut problems: Vec<String> =
            self.fields.iter().filter_map(|field| field.problem(given.get(&field.name))).collect();
        problems.extend(given.keys().filter_map(|name| self.unknown(name)));
        if problems.is_empty() { Ok(given.clone()) } else { Err(problems) }
    }

    /// Returns the JSON schema of the arguments of `directive_return`.
    #[must_use]
    pub fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.fields.iter().map(|field| (field.name.clone(), field.schema())).collect();
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name.as_str())
            .collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    fn unknown(&self, name: &str) -> Option<String> {
        let known: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        (!known.contains(&name))
            .then(|| format!("`{name}` is not an output; the outputs are `{}`", known.join("`, `")))
    }
}

/// `` `score` (number, required), `note` (string) ``
impl fmt::Display for OutputContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.fields.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let required = if field.required { ", required" } else { "" };
            write!(f, "{comma}`{}` ({}{required})", field.name, field.type_name())?;
        }
        Ok(())
    }
}

/// One declared output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputField {
    /// Its name.
    pub name: String,
    /// The type of its value; `None` if any JSON value will do.
    pub value_type: Option<ValueType>,
    /// `true` if it must be given.
    pub required: bool,
    /// Its meaning, for the model. It may be empty.
    pub description: String,
}

impl OutputField {
    /// Creates an output that must be given.
    #[must_use]
    pub fn required(name: &str, value_type: impl Into<Option<ValueType>>) -> Self {
        let (name, value_type) = (name.to_owned(), value_type.into());
        Self { name, value_type, required: true, description: String::new() }
    }

    /// Creates an output that may be left out.
    #[must_use]
    pub fn optional(name: &str, value_type: impl Into<Option<ValueType>>) -> Self {
        Self { required: false, ..Self::required(name, value_type) }
    }

    /// Sets the meaning of the output.
    #[must_use]
    pub fn with_description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    fn type_name(&self) -> &'static str {
        self.value_type.map_or("any", ValueType::as_str)
    }

    fn problem(&self, value: Option<&Value>) -> Option<String> {
        let name = &self.name;
        let expected = self.type_name();
        match value {
            None if self.required => Some(format!("`{name}` is missing; give {expected}")),
            Some(value) if self.value_type.is_some_and(|it| !admits(it, value)) => {
                Some(format!("`{name}` must be {expected}, not {}", type_of(value)))
            }
            _ => None,
        }
    }

    fn schema(&self) -> Value {
        let mut schema = Map::new();
        if let Some(value_type) = self.value_type {
            schema.insert("type".to_owned(), value_type.as_str().into());
        }
        if !self.description.is_empty() {
            schema.insert("description".to_owned(), self.description.as_str().into());
        }
        Value::Object(schema)
    }
}

/// Returns `true` if the value is of the type.
fn admits(value_type: ValueType, value: &Value) -> bool {
    match value_type {
        ValueType::Array => value.is_array(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Integer => is_integer(value),
        ValueType::Number => value.is_number(),
        ValueType::Object => value.is_object(),
        ValueType::String => value.is_string(),
    }
}

/// A contract that declares an output twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("output `{name}` is declared twice; give each output its own name")]
pub struct ContractError {
    /// The name that is declared twice.
    pub name: String,
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_integer(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
