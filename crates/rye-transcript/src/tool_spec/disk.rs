//! The form of a tool's description in transcripts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolSpec;

#[derive(Serialize, Deserialize)]
pub(crate) struct ToolDisk {
    name: String,
    description: String,
    input_schema: Value,
    output_schema: Option<Value>,
}

impl ToolDisk {
    pub(crate) fn of(tool: &ToolSpec) -> Self {
        Self {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            output_schema: tool.output_schema.clone(),
        }
    }

    pub(crate) fn into_tool(self) -> ToolSpec {
        let Self { name, description, input_schema, output_schema } = self;
        ToolSpec { name, description, input_schema, output_schema }
    }
}
