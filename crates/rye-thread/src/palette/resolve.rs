//! Resolution of the name and arguments that a model wrote to exactly one tool.

use rye_caps::Kind;
use serde_json::Value;

use super::name::{bare_name, name_on_server, names_return, palette_name, words};
use super::{
    EXECUTE, Execution, Offered, Palette, execute_arguments, execution, fork_arguments,
    inline_arguments,
};
use crate::{DIRECTIVE_RETURN, ToolCall};

/// A call with its tool. Nothing in `arguments` can name another one.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) offered: &'a Offered,
    pub(crate) arguments: Value,
}

/// The function that the name of a call means.
enum Function<'a> {
    /// `rye_execute`, whose arguments name an item.
    Execute,
    /// A tool or an operation.
    Own(&'a Offered),
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
        match self.function(&call.name) {
            Some(Function::Own(offered)) => Ok(Resolved { offered, arguments: arguments.clone() }),
            Some(Function::Execute) => self.resolve_execution(arguments),
            None => Err(Unresolved::UnknownName(call.name.clone())),
        }
    }

    /// Returns `true` if a call of this name runs the item that its arguments name.
    pub(crate) fn is_execute(&self, name: &str) -> bool {
        matches!(self.function(name), Some(Function::Execute))
    }

    /// Returns the own name of the function that a name means, or the name itself if it means none.
    pub(crate) fn function_name(&self, name: &str) -> String {
        match self.function(name) {
            _ if names_return(name) => palette_name(DIRECTIVE_RETURN),
            Some(Function::Execute) => EXECUTE.to_owned(),
            Some(Function::Own(offered)) => offered.entry.spec.name.clone(),
            None => name.to_owned(),
        }
    }

    /// Returns the function that a name means: a palette name, or the item id of an offered tool, also behind a prefix
    /// that models add. A name that is only similar counts if it is similar to a single function.
    fn function(&self, name: &str) -> Option<Function<'_>> {
        let bare = bare_name(name);
        let exact = self.exactly(name).or_else(|| self.exactly(bare));
        exact.or_else(|| self.similar(bare))
    }

    fn exactly(&self, name: &str) -> Option<Function<'_>> {
        if name == EXECUTE {
            return Some(Function::Execute);
        }
        let named = self.offered.get(name).or_else(|| self.operations.get(name));
        named.or_else(|| self.by_id(name)).map(Function::Own)
    }

    /// Returns the only function that has the words of this name, such as `rye.file-system.read` or
    /// `mcp__rye__rye_file_system_read`.
    fn similar(&self, name: &str) -> Option<Function<'_>> {
        let given: Vec<Vec<&str>> =
            [Some(name), name_on_server(name)].into_iter().flatten().map(words).collect();
        let is_meant = |known: &str| given.contains(&words(known));
        let tools = self.offered.iter().chain(&self.operations);
        let tools = tools.filter(|(name, offered)| {
            let ids = std::iter::once(&offered.entry.item_id).chain(&offered.entry.aliases);
            is_meant(name) || ids.into_iter().any(|id| is_meant(id))
        });
        let execute = is_meant(EXECUTE).then_some(Function::Execute);
        let mut meant = tools.map(|(_, offered)| Function::Own(offered)).chain(execute);
        meant.next().filter(|_| meant.next().is_none())
    }

    /// Resolves a call of `rye_execute`.
    fn resolve_execution(&self, arguments: &Value) -> Result<Resolved<'_>, Unresolved> {
        if let Some(resolved) = self.resolve_item(arguments) {
            return resolved;
        }
        let (id, arguments) = execute_arguments(arguments).map_err(Unresolved::Unreadable)?;
        let bare = bare_name(id);
        let offered =
            [id, bare].into_iter().find_map(|id| self.by_id(id).or_else(|| self.offered.get(id)));
        match offered {
            Some(offered) => Ok(Resolved { offered, arguments }),
            None => Err(Unresolved::UnknownId { kind: Kind::Tool, id: id.to_owned(), arguments }),
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
