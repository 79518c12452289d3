//! Planned steps as JSON, in which the result of an executed directive passes its steps to the provider.

use serde_json::{Map, Value, json};

use super::plan::{PlannedCall, PlannedStep};

/// The member of a result that holds the steps of an executed directive. They are followed before the next
/// step.
pub const PLANNED_STEPS: &str = "planned_steps";

impl PlannedStep {
    /// The JSON of the step, as it is listed in the member [`PLANNED_STEPS`].
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "calls": self.calls.iter().map(call).collect::<Value>(),
        })
    }

    /// Parses the JSON of [`PlannedStep::to_json`]; `None` for any other value.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str();
        let calls = value.get("calls")?.as_array()?.iter().map(read).collect::<Option<_>>()?;
        Some(Self::new(text("name")?, text("description")?, calls))
    }
}

fn call(call: &PlannedCall) -> Value {
    json!({
        "primary": call.primary,
        "item_type": call.item_type,
        "item_id": call.item_id,
        "parameters": call.parameters,
        "options": call.options,
    })
}

fn read(value: &Value) -> Option<PlannedCall> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let object =
        |name: &str| -> Option<Map<String, Value>> { value.get(name)?.as_object().cloned() };
    let kind = text("item_type");
    let id = text("item_id");
    let call = PlannedCall::new(text("primary")?, kind, id, object("parameters")?);
    Some(call.with_options(object("options")?))
}
