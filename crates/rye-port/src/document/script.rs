//! The header that makes a script a tool (SPEC 5.2).

use super::one_line;
use crate::document::manifest::yaml;
use serde_json::json;

/// The scripts that can be tools: the extension, the extension that the tool has, the `#!` line of one that has none, and the mark of a
/// comment.
const LANGUAGES: &[(&str, &str, &str, &str)] = &[
    ("py", "py", "#!/usr/bin/env python3", "#"),
    ("sh", "sh", "#!/bin/sh", "#"),
    ("bash", "sh", "#!/usr/bin/env bash", "#"),
    ("js", "js", "#!/usr/bin/env node", "//"),
    ("ts", "ts", "#!/usr/bin/env node", "//"),
    ("rb", "rb", "#!/usr/bin/env ruby", "#"),
];

/// A script as a tool.
#[derive(Debug)]
pub(crate) struct ScriptTool {
    /// The extension of the tool's file.
    pub(crate) extension: &'static str,
    pub(crate) text: String,
}

/// Adds a header to a script, whose command line is the argument `args` of the tool; `None` for a language that no tool has.
pub(crate) fn tool(extension: &str, description: &str, script: &str) -> Option<ScriptTool> {
    let (_, extension, interpreter, mark) =
        LANGUAGES.iter().find(|(of, ..)| *of == extension).copied()?;
    let (first, rest) = match script.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => (first, rest),
        None if script.starts_with("#!") => (script, ""),
        _ => ("", script),
    };
    let first = if first.is_empty() { interpreter } else { first };
    let header = json!({
        "description": one_line(description),
        "args": ["{input:args}"],
        "input_schema": {
            "type": "object",
            "properties": {
                "args": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The words of the command line of the script.",
                },
            },
            "required": ["args"],
            "additionalProperties": false,
        },
    });
    let lines: String = yaml(&header, 0).lines().map(|line| format!("{mark} {line}\n")).collect();
    let text = format!("{first}\n{mark} /// rye\n{lines}{mark} ///\n{rest}");
    Some(ScriptTool { extension, text })
}

/// Returns `true` if a file of this name is a program in some language, be it one that tools have or not.
pub(crate) fn is_program(name: &str) -> bool {
    const OTHERS: [&str; 12] =
        ["pl", "php", "lua", "ps1", "bat", "cmd", "zsh", "fish", "mjs", "cjs", "exe", "go"];
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    LANGUAGES.iter().any(|(of, ..)| *of == extension) || OTHERS.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_becomes_a_tool() {
        for (extension, script) in [
            ("py", "#!/usr/bin/env python3\nfrom __future__ import annotations\nprint(1)\n"),
            ("sh", "echo a"),
            ("bash", "#!/bin/bash"),
            ("js", "console.log(1)"),
            ("rb", "puts 1"),
        ] {
            let tool = tool(extension, "Says: a # b", script).unwrap();
            let read = rye_parse::tool(&tool.text, tool.extension);
            assert!(read.is_ok(), "{}\n{:?}", tool.text, read.err());
        }
        assert!(tool("pl", "Says a.", "").is_none());
    }
}
