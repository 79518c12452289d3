//! From the name and arguments that a model wrote to the one tool that they mean.

use serde_json::Value;

use super::{EXECUTE, Offered, Palette, execute_arguments, fork_arguments, is_fork};
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
    /// What a call means, before any authority is asked.
    pub(crate) fn resolve(&self, call: &ToolCall) -> Result<Resolved<'_>, Unresolved> {
        let arguments = call.arguments.as_ref().map_err(|reason| {
            Unresolved::Unreadable(vec![format!("the arguments are not readable JSON: {reason}")])
        })?;
        if let (EXECUTE, Some(offered), true) = (call.name.as_str(), &self.fork, is_fork(arguments))
        {
            let arguments = fork_arguments(arguments).map_err(Unresolved::Unreadable)?;
            return Ok(Resolved { offered, arguments });
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
}
