//! Permissions that other programs name, as the entries of `<permissions>` that would give them.

use crate::names;
use crate::report::Asked;

/// Tools of other programs, by the names that several of them use, and the capability of the tool of Rye that does the same.
const TOOLS: &[(&[&str], &str)] = &[
    (&["read", "read_file", "readfile", "view", "notebookread", "cat"], "rye.file-system.read"),
    (
        &["write", "write_file", "writefile", "create", "create_file", "createfile"],
        "rye.file-system.write",
    ),
    (
        &[
            "edit",
            "multiedit",
            "edit_file",
            "editfiles",
            "edits",
            "replace",
            "str_replace",
            "apply_patch",
            "patch",
            "update",
        ],
        "rye.file-system.edit",
    ),
    (&["ls", "list", "list_directory", "list_dir", "listdir"], "rye.file-system.ls"),
    (&["glob", "find", "file_search", "filesearch"], "rye.file-system.glob"),
    (
        &["grep", "search", "search_file_content", "textsearch", "codebase", "grep_search"],
        "rye.file-system.grep",
    ),
    (
        &[
            "bash",
            "shell",
            "run_shell_command",
            "terminal",
            "execute",
            "runcommands",
            "run_in_terminal",
            "runinterminal",
            "command",
            "developer",
            "powershell",
            "runtasks",
        ],
        "rye.bash.bash",
    ),
    (&["webfetch", "web_fetch", "fetch", "web-fetch", "web", "fetch_webpage"], "rye.web.fetch"),
    (&["task", "agent", "subagent", "runsubagent"], "rye.agent.threads.thread_directive"),
];

/// Returns what a source asks for by the name of a tool, such as `Bash(git:*)` or `mcp__tickets__create`.
pub(crate) fn tool(file: &str, asked: &str) -> Asked {
    let asked = asked.trim();
    let (name, condition) = match asked.split_once('(') {
        Some((name, condition)) => (name.trim(), Some(condition.trim_end_matches(')'))),
        None => (asked, None),
    };
    let mut note = String::new();
    let capability = server_tool(name).or_else(|| {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let known = TOOLS.iter().find(|(names, _)| names.contains(&name.as_str()));
        known.map(|(_, capability)| (*capability).to_owned())
    });
    let entries: Vec<String> = match &capability {
        Some(capability) => vec![format!("<execute><tool>{capability}</tool></execute>")],
        None => {
            note =
                "no tool of Rye has this name; write a tool or a wrapper of a server's tool for it"
                    .to_owned();
            Vec::new()
        }
    };
    if let (Some(condition), Some(capability)) = (condition, &capability) {
        note = if capability == "rye.bash.bash" {
            format!(
                "the source allows only `{condition}`, and this allows any command line; write a `command` tool with fixed words in its place"
            )
        } else {
            format!("the source allows only `{condition}`, and this allows all of the tool")
        };
    }
    Asked { file: file.to_owned(), asked: asked.to_owned(), entries, note }
}

/// `mcp__SERVER__TOOL`, `mcp__SERVER`, `SERVER/TOOL`.
fn server_tool(name: &str) -> Option<String> {
    let rest = name.strip_prefix("mcp__");
    let (server, tool) = match rest {
        Some(rest) => rest.split_once("__").unwrap_or((rest, "*")),
        None => {
            name.split_once('/').filter(|(server, tool)| !server.is_empty() && !tool.is_empty())?
        }
    };
    let tool = if tool == "*" { "*".to_owned() } else { names::segment(tool) };
    Some(format!("mcp.{}.{tool}", names::segment(server)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_capabilities() {
        for (asked, expected) in [
            ("Read", Some("rye.file-system.read")),
            ("MultiEdit", Some("rye.file-system.edit")),
            ("Bash(git add:*)", Some("rye.bash.bash")),
            ("run_shell_command", Some("rye.bash.bash")),
            ("mcp__tickets__create_ticket", Some("mcp.tickets.create_ticket")),
            ("mcp__tickets", Some("mcp.tickets.*")),
            ("github/*", Some("mcp.github.*")),
            ("TodoWrite", None),
        ] {
            let asked = tool("a.md", asked);
            let entry = expected.map(|it| format!("<execute><tool>{it}</tool></execute>"));
            assert_eq!(asked.entries.first().cloned(), entry, "{}", asked.asked);
            assert_eq!(asked.entries.is_empty(), !asked.note.is_empty() && expected.is_none());
        }
        assert!(tool("a.md", "Bash(git:*)").note.contains("`git:*`"));
    }
}
