//! One action of a hook as a call: its arguments, its intent and its time.

use std::time::Duration;

use rye_types::HookEvent;
use serde_json::{Value, json};

use crate::drive::call::Prepared;
use crate::palette::EXECUTE;
use crate::transcript::Event;
use crate::transcript::payload::Intent;
use crate::{ActionTarget, Hook, HookAction, Palette, ToolCall, ToolResult};

/// The time that hooks may take for each action at the end of a thread whose own time is used up.
const GRACE: Duration = Duration::from_secs(30);

/// Returns the time that an action may take of what is left to the thread.
pub(super) fn time_for(event: HookEvent, left: Duration) -> Duration {
    match event {
        HookEvent::AfterComplete | HookEvent::Error | HookEvent::Limit => left.max(GRACE),
        _ => left,
    }
}

/// The intent of a call, as that of a hook's.
pub(super) fn start(hook: &Hook, action: &HookAction, prepared: &Prepared<'_>) -> Event {
    match prepared.intent.clone() {
        Event::ToolCallStart(intent) => Event::ToolCallStart(Intent {
            hook: Some(hook.id.clone()),
            injects: Some(injects(hook.event, action)),
            ..intent
        }),
        other => other,
    }
}

/// The action as a call, and the paths of its arguments that lead nowhere.
pub(super) fn action_call(
    id: &str,
    action: &HookAction,
    data: &Value,
    palette: &Palette,
) -> (ToolCall, Option<Vec<String>>) {
    let (parameters, missing) = match action.fill(data) {
        Ok(filled) => (palette.with_texts(item(action), filled), None),
        Err(missing) => (Value::Object(action.arguments.clone()), Some(missing)),
    };
    let arguments = json!({"item_type": "tool", "item_id": item(action), "parameters": parameters});
    (ToolCall::new(id, EXECUTE, arguments), missing)
}

/// The id of the item that the action names.
pub(super) fn item(action: &HookAction) -> &str {
    match &action.target {
        ActionTarget::Text(id) | ActionTarget::Tool(id) => id,
    }
}

/// Puts the result of a tool that a model is to read into the action's element, as knowledge stands in one (SPEC 8.6). What a
/// thread has on record stays as it is.
pub(super) fn in_element(
    event: HookEvent,
    action: &HookAction,
    mut result: ToolResult,
) -> ToolResult {
    let (ActionTarget::Tool(id), Some(name)) = (&action.target, &action.element) else {
        return result;
    };
    if result.is_error || !injects(event, action) {
        return result;
    }
    let text = match &result.content {
        Value::String(text) => text.clone(),
        content => content.to_string(),
    };
    // The result cannot close the element that it stands in.
    let text = escape_end(&text, name);
    let text = format!("<{name} id=\"{id}\" type=\"tool\">\n{text}\n</{name}>");
    result.content = text.into();
    result
}

/// Replaces the `<` of each end tag of this name, in any case.
fn escape_end(text: &str, name: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let tag = after.trim_start().strip_prefix('/').map(str::trim_start);
        let start = tag.and_then(|tag| tag.get(..name.len()));
        let ends = start.is_some_and(|start| start.eq_ignore_ascii_case(name));
        escaped.push_str(before);
        escaped.push_str(if ends { "&lt;" } else { "<" });
        rest = after;
    }
    escaped + rest
}

/// Returns `true` if the result is for the model: that of a text, and that of a tool before the first request.
pub(super) fn injects(event: HookEvent, action: &HookAction) -> bool {
    event.is_context() || matches!(action.target, ActionTarget::Text(_))
}
