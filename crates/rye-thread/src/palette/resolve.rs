//! Resolution of the name and arguments that a model wrote to exactly one tool.

use rye_caps::Kind;
use serde_json::Value;

use super::{
    EXECUTE, Execution, Offered, Palette, execute_arguments, execution, fork_arguments,
    inline_arguments,
};
use crate::ToolCall;

/// A call with its tool. Nothing in `arguments` can name another one.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) offered: &'a Offered,
    pub(crate) arguments: Value,
}

/// A call that does not resolve to a tool of the palette.
#[derive(Debug)]
pub(crate) enum Unresolved {
    /// The call cannot be read. The text is for the model.
    Unreadable(Vec<String>),
    /// No tool has this palette name.
    UnknownName(String),
    /// Nothing here executes this item. The authority may refuse it with a reason.
    UnknownId { kind: Kind, id: String, arguments: Value },
}

impl Palette {
    /// Returns the arguments with numbers and booleans as text, if the tool of this id declares text (SPEC 6.1).
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

    /// Resolves a call, before any authority is asked.
    pub(crate) fn resolve(&self, call: &ToolCall) -> Result<Resolved<'_>, Unresolved> {
        let arguments = call.arguments.as_ref().map_err(|reason| {
            Unresolved::Unreadable(vec![format!("the arguments are not readable JSON: {reason}")])
        })?;
        if call.name == EXECUTE
            && let Some(resolved) = self.resolve_item(arguments)
        {
            return resolved;
        }
        if call.name == EXECUTE {
            let (id, arguments) = execute_arguments(arguments).map_err(Unresolved::Unreadable)?;
            return match self.by_id(id) {
                Some(offered) => Ok(Resolved { offered, arguments }),
                None => {
                    Err(Unresolved::UnknownId { kind: Kind::Tool, id: id.to_owned(), arguments })
                }
            };
        }
        let named = self.offered.get(&call.name).or_else(|| self.operations.get(&call.name));
        match named {
            Some(offered) => Ok(Resolved { offered, arguments: arguments.clone() }),
            None => Err(Unresolved::UnknownName(call.name.clone())),
        }
    }

    /// Resolves a call of `rye_execute` for an item that is not a tool.
    ///
    /// Returns `None` if the call names a tool, or if nothing else is offered.
    fn resolve_item(&self, arguments: &Value) -> Option<Result<Resolved<'_>, Unresolved>> {
        let inline = self.inline.as_ref().map(|inline| &inline.offered);
        let (offered, read) = match (execution(arguments), &self.fork, inline) {
            (Execution::Tool, ..) => return None,
            (Execution::Fork, Some(fork), _) => (fork, fork_arguments(arguments)),
            (Execution::Fork, None, _) => return Some(Err(without_fork(arguments))),
            (_, _, Some(inline)) => (inline, inline_arguments(arguments)),
            (Execution::Directive, Some(fork), None) => (fork, fork_arguments(arguments)),
            (_, _, None) => return None,
        };
        let resolved = read.map(|arguments| Resolved { offered, arguments });
        Some(resolved.map_err(Unresolved::Unreadable))
    }
}

/// Returns the error of a call that would start a thread where none can start. The authority refuses the directive with
/// a reason.
fn without_fork(arguments: &Value) -> Unresolved {
    let arguments = match fork_arguments(arguments) {
        Ok(arguments) => arguments,
        Err(problems) => return Unresolved::Unreadable(problems),
    };
    match arguments["directive"].as_str() {
        Some(id) => Unresolved::UnknownId { kind: Kind::Directive, id: id.to_owned(), arguments },
        None => {
            let problem = "`item_id` must be a string that names the directive";
            Unresolved::Unreadable(vec![problem.to_owned()])
        }
    }
}
