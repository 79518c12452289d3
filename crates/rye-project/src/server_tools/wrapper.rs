//! Manifests that wrap the tools of a server, for the operator to read and sign.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rye_parse::hidden_characters;
use rye_resolve::ItemId;
use serde_json::Value;

use super::{ServerTools, name};

/// A manifest that calls one tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrapperFile {
    /// The tool's name on the server.
    pub tool: String,
    /// The id of the wrapper.
    pub id: ItemId,
    /// The text of the file, in YAML.
    pub text: String,
}

/// A tool that cannot be wrapped, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{}` is not wrapped: {reason}", .tool.escape_debug())]
#[non_exhaustive]
pub struct NotWrapped {
    /// The tool's name on the server.
    pub tool: String,
    /// Why.
    pub reason: String,
}

impl ServerTools {
    /// Returns an unsigned wrapper for each tool, with ids below `folder`, such as `mcp/notes`.
    ///
    /// The description and the schema are the server's, with every hidden character spelled out.
    /// The signer reads and shortens them, and moves arguments that no model should choose to
    /// `fixed_params`.
    #[must_use]
    pub fn wrappers(&self, folder: &str) -> Vec<Result<WrapperFile, NotWrapped>> {
        let mut taken = BTreeSet::new();
        self.tools.iter().map(|tool| self.wrapper(tool, folder, &mut taken)).collect()
    }

    fn wrapper(
        &self,
        tool: &Value,
        folder: &str,
        taken: &mut BTreeSet<String>,
    ) -> Result<WrapperFile, NotWrapped> {
        let name = name(tool);
        let refused =
            |reason: &str| NotWrapped { tool: name.to_owned(), reason: reason.to_owned() };
        let id: ItemId = format!("{folder}/{}", segment(name))
            .parse()
            .map_err(|_| refused("its name makes no id"))?;
        if !taken.insert(id.as_str().to_lowercase()) {
            return Err(refused("another tool's name makes the same id"));
        }
        let schema = schema(tool).ok_or_else(|| refused("its input schema is of no object"))?;
        if leads_elsewhere(&schema) {
            return Err(refused("its input schema refers to another document"));
        }
        let text = self.text(name, tool, &schema);
        match rye_parse::tool(&text, "yaml") {
            Ok(_) => Ok(WrapperFile { tool: name.to_owned(), id, text }),
            Err(error) => {
                let problems = error.problems().iter().map(ToString::to_string);
                Err(refused(&problems.collect::<Vec<_>>().join("; ")))
            }
        }
    }

    fn text(&self, name: &str, tool: &Value, schema: &Value) -> String {
        let said = tool.get("description").and_then(Value::as_str).map(str::trim);
        let said = said.filter(|text| !text.is_empty());
        let description = said.map_or_else(|| format!("{name} of {}", self.server), str::to_owned);
        let mut text = String::from(HEADER);
        let mut line = |key: &str, value: &str| {
            // Writing to a string cannot fail.
            let _written = writeln!(text, "{key}: {}", quote(value));
        };
        line("description", &description);
        text.push_str("executor: mcp\n");
        let mut line = |key: &str, value: &str| {
            let _written = writeln!(text, "{key}: {}", quote(value));
        };
        line("server", &self.server);
        line("tool", name);
        text.push_str("input_schema:");
        block(schema, 1, &mut text);
        text
    }
}

const HEADER: &str = "\
# Written by `rye mcp discover`. The description and the schema are what the server says of itself, and a model will read
# them: look at them before you sign this, and move what no model should choose to `fixed_params`.
";

/// A tool's name as a part of an id.
fn segment(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The schema of the arguments, without the dialect, which is ours to choose.
fn schema(tool: &Value) -> Option<Value> {
    let mut schema = tool.get("inputSchema")?.as_object()?.clone();
    schema.shift_remove("$schema");
    schema.entry("type").or_insert_with(|| "object".into());
    Some(schema.into())
}

/// Returns `true` if the schema refers to a text outside of it.
fn leads_elsewhere(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| {
            let target = value.as_str().filter(|_| key == "$ref" || key == "$dynamicRef");
            target.is_some_and(|target| !target.starts_with('#')) || leads_elsewhere(value)
        }),
        Value::Array(values) => values.iter().any(leads_elsewhere),
        _ => false,
    }
}

/// A value in block style, behind the colon or the dash that it belongs to.
fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                let _written = write!(text, "\n{indent}{}:", quoted_key(key));
                block(value, depth + 1, text);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                let _written = write!(text, "\n{indent}-");
                match value {
                    // Within a list the short form is as readable, and leaves no doubt about where it ends.
                    Value::Object(_) | Value::Array(_) => flow(value, text),
                    _ => block(value, depth + 1, text),
                }
            }
        }
        _ => flow(value, text),
    }
    if depth == 1 {
        text.push('\n');
    }
}

fn flow(value: &Value, text: &mut String) {
    let _written = write!(text, " {}", escape_hidden(&value.to_string()));
}

fn quoted_key(key: &str) -> String {
    let is_plain = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&key);
    if is_plain { key.to_owned() } else { quote(key) }
}

/// A double-quoted scalar, which in YAML and in JSON is the same.
fn quote(text: &str) -> String {
    escape_hidden(&Value::from(text).to_string())
}

/// JSON in which nothing is hidden; within its strings alone can be something that is.
fn escape_hidden(json: &str) -> String {
    let mut hidden = hidden_characters(json).peekable();
    let mut shown = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        let is_control = c == '\u{7f}' || ('\u{80}'..='\u{9f}').contains(&c);
        let is_break = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
        let is_hidden = hidden.next_if(|(found, _)| *found == at).is_some();
        match u32::from(c) {
            code if !(is_hidden || is_control || is_break) => shown.extend(char::from_u32(code)),
            code if code <= 0xffff => {
                let _written = write!(shown, "\\u{code:04x}");
            }
            code => {
                let _written = write!(shown, "\\U{code:08x}");
            }
        }
    }
    shown
}
