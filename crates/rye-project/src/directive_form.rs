//! The form of a directive for callers that know schemas alone: its inputs and outputs.

use rye_parse::{Input, Spanned};
use rye_resolve::ItemId;
use rye_types::ValueType;
use serde_json::{Map, Value, json};

use crate::plan::{PrepareError, contract};
use crate::project::Project;

/// The inputs and outputs of a directive, as JSON schemas of objects.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DirectiveForm {
    /// The title, if the file has one.
    pub title: Option<String>,
    /// The description; may be empty.
    pub description: String,
    /// The schema of the inputs.
    pub inputs: Value,
    /// The schema of the outputs; `None` for a directive that declares none.
    pub outputs: Option<Value>,
}

impl Project {
    /// Returns the form of a directive, verified like any item.
    ///
    /// # Errors
    ///
    /// When an item of its chain cannot be had, or when its outputs contradict each other.
    pub fn directive_form(&self, id: &ItemId) -> Result<DirectiveForm, PrepareError> {
        let chain = self.library().chain(self.library().directive(id)?)?;
        let contract = contract(&chain)?;
        let directive = chain.leaf().content.value();
        let text = |part: &Option<Spanned<String>>| part.as_ref().map(|text| text.value.clone());
        Ok(DirectiveForm {
            title: text(&directive.title),
            description: text(&directive.description).unwrap_or_default(),
            inputs: inputs_schema(directive.inputs.iter().map(|input| &input.value)),
            outputs: (!contract.is_empty()).then(|| contract.schema()),
        })
    }
}

/// Returns the schema of an object with these inputs and no others.
fn inputs_schema<'a>(inputs: impl Iterator<Item = &'a Input> + Clone) -> Value {
    let properties: Map<String, Value> =
        inputs.clone().map(|input| (input.name.value.clone(), input_schema(input))).collect();
    let needed = inputs.filter(|input| input.required && input.default.is_none());
    let required: Vec<&str> = needed.map(|input| input.name.value.as_str()).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn input_schema(input: &Input) -> Value {
    let mut schema = json!({ "type": input.value_type.to_string() });
    if !input.description.trim().is_empty() {
        schema["description"] = input.description.trim().into();
    }
    // Choices and defaults are written as text, which only text takes as it stands.
    if input.value_type == ValueType::String {
        if !input.choices.is_empty() {
            schema["enum"] = input.choices.as_slice().into();
        }
        if let Some(default) = &input.default {
            schema["default"] = default.value.as_str().into();
        }
    }
    schema
}
