//! Subagents of Claude Code, and a section for `AGENTS.md`.

use rye_parse::Directive;
use rye_resolve::ItemId;

use super::calling::{Access, RULES, description, parameters, steps, title};
use super::markdown::code;
use super::skill::{purpose, yaml};

/// Returns the file of a subagent of Claude Code, whose one task is the directive. It names no tools, so that the subagent has those of
/// its conversation.
#[must_use]
pub fn subagent(id: &ItemId, directive: &Directive, name: &str, access: Access<'_>) -> String {
    format!(
        "{}\nYou carry out one task. {}\n\n## Parameters\n\n{}\n## Steps\n\n{}",
        yaml(name, &purpose(id, directive), &serde_json::Map::new()),
        description(id, directive),
        parameters(directive),
        steps(id, directive, access),
    )
}

/// Returns a section for `AGENTS.md` that says when to follow which directive, and how to get it from `rye mcp`.
#[must_use]
pub fn agents_section(directives: &[(&ItemId, &Directive)]) -> String {
    let each: String = directives.iter().map(|(id, directive)| row(id, directive)).collect();
    format!(
        "# Directives\n\nThis project has signed workflows, which are called directives. Follow the directive where the user's task is \
         its task:\n\n1. Call the tool `rye_execute` of the MCP server `rye` with `item_type` set to `directive`, the directive's id as \
         `item_id`, and its parameters as the object `parameters`. `rye mcp` starts the server.\n{RULES}{each}"
    )
}

fn row(id: &ItemId, directive: &Directive) -> String {
    let title = title(id, directive);
    format!(
        "\n## {title}\n\n{} Its id is {}.\n\n{}",
        description(id, directive),
        code(id.as_str()),
        parameters(directive),
    )
}
