//! The declared outputs of a directive, and the check of returned values.

use std::fmt;

use serde_json::{Map, Value, json};
use strum::{Display, EnumString, IntoStaticStr};

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
            write!(f, "{comma}`{}` ({}{required})", field.name, field.value_type)?;
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
    /// The type of its value.
    pub value_type: OutputType,
    /// `true` if it must be given.
    pub required: bool,
    /// Its meaning, for the model. It may be empty.
    pub description: String,
}

impl OutputField {
    /// Creates an output that must be given.
    #[must_use]
    pub fn required(name: &str, value_type: OutputType) -> Self {
        Self { name: name.to_owned(), value_type, required: true, description: String::new() }
    }

    /// Creates an output that may be left out.
    #[must_use]
    pub fn optional(name: &str, value_type: OutputType) -> Self {
        Self { required: false, ..Self::required(name, value_type) }
    }

    /// Sets the meaning of the output.
    #[must_use]
    pub fn with_description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    fn problem(&self, value: Option<&Value>) -> Option<String> {
        let name = &self.name;
        let expected = self.value_type;
        match value {
            None if self.required => Some(format!("`{name}` is missing; give {expected}")),
            Some(value) if !expected.admits(value) => {
                Some(format!("`{name}` must be {expected}, not {}", type_of(value)))
            }
            _ => None,
        }
    }

    fn schema(&self) -> Value {
        let mut schema = Map::new();
        if self.value_type != OutputType::Any {
            schema.insert("type".to_owned(), self.value_type.as_str().into());
        }
        if !self.description.is_empty() {
            schema.insert("description".to_owned(), self.description.as_str().into());
        }
        Value::Object(schema)
    }
}

/// The type of the value of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_fn = OutputTypeError::new, parse_err_ty = OutputTypeError)]
pub enum OutputType {
    /// Any JSON value, for outputs that declare no type.
    Any,
    /// A JSON array.
    Array,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction. `3.0` counts, as in JSON Schema.
    Integer,
    /// Any JSON number.
    Number,
    /// A JSON object.
    Object,
    /// A JSON string.
    String,
}

impl OutputType {
    /// Returns the name in JSON Schema, or `any`, which has no name there.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Array => value.is_array(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => is_integer(value),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
            Self::String => value.is_string(),
        }
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

/// A word that is not a type of output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "`{text}` is not a type of output; use `any`, `array`, `boolean`, `integer`, `number`, `object` or `string`"
)]
pub struct OutputTypeError {
    /// The word.
    pub text: String,
}

impl OutputTypeError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
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
