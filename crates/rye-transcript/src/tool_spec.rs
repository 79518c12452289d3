//! The description of a tool for the model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The description of one tool for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name in the model's palette, which follows from the item id (SPEC 5.4).
    pub name: String,
    /// The effect and use of the tool, for the model.
    pub description: String,
    /// The JSON schema of the arguments, an object schema.
    pub input_schema: Value,
    /// The JSON schema of the result, if the tool declares one.
    pub output_schema: Option<Value>,
}

impl ToolSpec {
    /// Creates a tool description without an output schema.
    #[must_use]
    pub fn new(name: &str, description: &str, input_schema: Value) -> Self {
        let name = name.to_owned();
        let description = description.to_owned();
        Self { name, description, input_schema, output_schema: None }
    }

    /// Sets the JSON schema of the result.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }
}
