//! From the name and arguments that a model wrote to the one tool that they mean.

use serde_json::Value;

use super::{
    EXECUTE, Execution, Offered, Palette, execute_arguments, execution, fork_arguments,
    inline_arguments,
};
use crate::ToolCall;

/// A call whose tool is settled: nothing in `arguments` can name another one.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) offered: &'a Offered,
    pub(crate) arguments: Value,
}

/// A call that means no tool of the palette.
#[derive(Debug)]
pub(crate) enum Unresolved {
    /// The call cannot be read; the text is for the model.
    Unreadable(Vec<String>),
    /// No tool has this palette name.
    UnknownName(String),
    /// No tool has this item id, which the authority may have an opinion about.
    UnknownId { id: String, arguments: Value },
}

impl Palette {
    /// The arguments with numbers and booleans as text, where the tool of this id declares text (SPEC 6.1).
    pub(crate) fn with_texts(&self, id: &str, mut arguments: Value) -> Value {
        let schema = self.by_id(id).map(|offered| &offered.entry.spec.input_schema);
        for (name, value) in arguments.as_object_mut().into_iter().flatten() {
            let is_text =
                schema.is_some_and(|schema| schema["properties"][name]["type"] == "string");
            if is_text && matches!(value, Value::Bool(_) | Value::Number(_)) {
                *value = Value::String(value.to_string());
            }
        }
        arguments
    }

    /// What a call means, before any authority is asked.
    pub(crate) fn resolve(&self, call: &ToolCall) -> Result<Resolved<'_>, Unresolved> {
        let arguments = call.arguments.as_ref().map_err(|reason| {
            Unresolved::Unreadable(vec![format!("the arguments are not readable JSON: {reason}")])
        })?;
        if call.name == EXECUTE
            && let Some(resolved) = self.resolve_item(arguments)
        {
            return resolved.map_err(Unresolved::Unreadable);
        }
        if call.name == EXECUTE {
            let (id, arguments) = execute_arguments(arguments).map_err(Unresolved::Unreadable)?;
            return match self.by_id(id) {
                Some(offered) => Ok(Resolved { offered, arguments }),
                None => Err(Unresolved::UnknownId { id: id.to_owned(), arguments }),
            };
        }
        let named = self.offered.get(&call.name).or_else(|| self.operations.get(&call.name));
        match named {
            Some(offered) => Ok(Resolved { offered, arguments: arguments.clone() }),
            None => Err(Unresolved::UnknownName(call.name.clone())),
        }
    }

    /// What a call of `rye_execute` means that names no tool; `None` where it names one, or nothing else is offered.
    fn resolve_item(&self, arguments: &Value) -> Option<Result<Resolved<'_>, Vec<String>>> {
        let inline = self.inline.as_ref().map(|inline| &inline.offered);
        let (offered, read) = match (execution(arguments), &self.fork, inline) {
            (Execution::Tool, ..) => return None,
            // Without an item that may be executed in a thread of its own, the authority refuses the call and says why.
            (Execution::Fork, Some(fork), _) => (fork, fork_arguments(arguments)),
            (_, _, Some(inline)) => (inline, inline_arguments(arguments)),
            (Execution::Directive, Some(fork), None) => (fork, fork_arguments(arguments)),
            (_, _, None) => return None,
        };
        Some(read.map(|arguments| Resolved { offered, arguments }))
    }
}
