//! The only tool of the conversations.

use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::{Capability, Kind, Primary};
use rye_thread::{AuthorisedCall, PaletteEntry, Tool, ToolOutput, ToolSpec};
use rye_types::Effect;
use serde_json::{Value, json};

/// The id of the tool, which is also its name for the model.
pub(crate) const ADD: &str = "add";

struct Add;

#[async_trait]
impl Tool for Add {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let number = |name: &str| arguments.get(name).and_then(Value::as_f64).unwrap_or_default();
        let sum = number("a") + number("b");
        ToolOutput::ok(json!(sum))
    }
}

/// Returns the tool for a palette. Because it is read-only, its calls run without waiting for the disk.
pub(crate) fn add() -> Result<PaletteEntry, Box<dyn std::error::Error>> {
    let number = json!({ "type": "number" });
    let schema = json!({
        "type": "object",
        "properties": { "a": number, "b": number },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    let capability = Capability::new(Primary::Execute, Kind::Tool, ADD)?;
    let spec = ToolSpec::new(ADD, "Adds two numbers.", schema);
    Ok(PaletteEntry::new(ADD, spec, capability, Effect::ReadOnly, Arc::new(Add)))
}
