//! The formats of other programs, and the recognition of their files (SPEC 17.1).

use serde_json::Value;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::front_matter;
use crate::source::{Source, SourceFile};

/// A format that can be imported.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// A folder with `plugin.json` or `.claude-plugin/plugin.json`.
    AgentPlugin,
    /// A folder with `SKILL.md`.
    AgentSkill,
    /// A file of `.claude/agents`, or of `agents` of a plugin.
    ClaudeSubagent,
    /// A file of `.claude/commands`, or of `commands` of a plugin.
    ClaudeCommand,
    /// `AGENTS.md`, `CLAUDE.md`, `GEMINI.md`, and the rules of Cursor, Windsurf, Cline and VS Code.
    Rules,
    /// A recipe of goose.
    GooseRecipe,
    /// A command of Gemini CLI.
    GeminiCommand,
    /// A workflow of GitHub Agentic Workflows.
    GhAwWorkflow,
    /// A prompt of Dotprompt.
    Dotprompt,
    /// A prompt of Prompty.
    Prompty,
    /// A prompt file or custom agent of VS Code.
    EditorPrompt,
    /// The servers of an MCP client.
    McpServers,
    /// Tool schemas for the APIs of OpenAI or Anthropic, or a list of tools of an MCP server.
    ToolSchemas,
    /// Agents and tasks of crewAI.
    CrewAi,
    /// An item of the original system: a Python tool with module variables, or a directive or knowledge with front matter.
    Original,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// Returns the name with its article, for sentences.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::AgentPlugin => "an Agent Plugin",
            Self::AgentSkill => "an Agent Skill",
            Self::ClaudeSubagent => "a Claude Code subagent",
            Self::ClaudeCommand => "a Claude Code command",
            Self::Rules => "a file of rules for agents",
            Self::GooseRecipe => "a goose recipe",
            Self::GeminiCommand => "a Gemini CLI command",
            Self::GhAwWorkflow => "a GitHub Agentic Workflow",
            Self::Dotprompt => "a Dotprompt file",
            Self::Prompty => "a Prompty file",
            Self::EditorPrompt => "a prompt file of VS Code",
            Self::McpServers => "a configuration of MCP servers",
            Self::ToolSchemas => "a file of tool schemas",
            Self::CrewAi => "a file of crewAI",
            Self::Original => "an item of the original system",
        }
    }
}

/// A part of a source that can be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The format.
    pub format: Format,
    /// The file, or the folder of a skill or plugin; empty for the source itself.
    pub path: String,
}

/// Recognises the parts of a source. A file belongs to one of them at most: to a skill or plugin whose folder holds it, or to itself.
#[must_use]
pub fn recognise(source: &Source) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let is_inside = |path: &str, found: &[Found]| {
        found.iter().any(|part| is_folder_of(part) && is_below(path, &part.path))
    };
    for marker in [plugin_folder, skill_folder] {
        let mut folders: Vec<(&str, Format)> = source.files().iter().filter_map(marker).collect();
        folders.sort();
        folders.dedup();
        for (folder, format) in folders {
            if !is_inside(folder, &found) {
                found.push(Found { format, path: folder.to_owned() });
            }
        }
    }
    for file in source.files() {
        if is_inside(&file.path, &found) {
            continue;
        }
        if let Some(format) = recognise_file(&file.path, &file.bytes) {
            found.push(Found { format, path: file.path.clone() });
        }
    }
    found
}

fn is_folder_of(part: &Found) -> bool {
    matches!(part.format, Format::AgentPlugin | Format::AgentSkill)
}

pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn plugin_folder(file: &SourceFile) -> Option<(&str, Format)> {
    let folder = file
        .path
        .strip_suffix(".claude-plugin/plugin.json")
        .or_else(|| file.path.strip_suffix("plugin.json"))?;
    let is_whole_name = folder.is_empty() || folder.ends_with('/');
    let manifest: Value = serde_json::from_slice(&file.bytes).ok()?;
    let is_marked = file.path.contains(".claude-plugin/")
        || manifest["$schema"].as_str().is_some_and(|schema| schema.contains("agent-plugins.org"));
    // Plugins of other programs have an id and a type beside the name.
    let is_other = ["id", "type", "main"].iter().any(|key| manifest.get(*key).is_some());
    let is_plugin = is_whole_name
        && manifest.get("name").is_some_and(Value::is_string)
        && (is_marked || !is_other);
    is_plugin.then(|| (folder.trim_end_matches('/'), Format::AgentPlugin))
}

fn skill_folder(file: &SourceFile) -> Option<(&str, Format)> {
    let folder = file.path.strip_suffix("SKILL.md")?;
    (folder.is_empty() || folder.ends_with('/'))
        .then(|| (folder.trim_end_matches('/'), Format::AgentSkill))
}

/// Recognises a file by its path, with `/`, and its content.
#[must_use]
pub fn recognise_file(path: &str, bytes: &[u8]) -> Option<Format> {
    let file = SourceFile::new(path, bytes);
    let name = file.name().to_ascii_lowercase();
    let path = path.to_ascii_lowercase();
    let in_folder = |folder: &str| {
        path.starts_with(&format!("{folder}/")) || path.contains(&format!("/{folder}/"))
    };
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "md" | "mdc" | "mdx" => markdown(&file, &name, &in_folder),
        "prompt" => Some(Format::Dotprompt),
        "prompty" => Some(Format::Prompty),
        "toml" => toml(&file, &in_folder),
        "yaml" | "yml" => yaml(&file),
        "json" | "jsonc" => json(&file, &name),
        "py" | "js" | "ts" => original_script(&file),
        _ if RULES_WITHOUT_EXTENSION.contains(&name.as_str()) => Some(Format::Rules),
        _ => None,
    }
}

/// Files of rules that are Markdown under a name without an extension.
const RULES_WITHOUT_EXTENSION: [&str; 4] =
    [".cursorrules", ".windsurfrules", ".clinerules", ".goosehints"];

/// Files of rules by their names.
const RULES: [&str; 8] = [
    "agents.md",
    "agent.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "copilot-instructions.md",
    "qwen.md",
    "warp.md",
];

fn markdown(file: &SourceFile, name: &str, in_folder: &dyn Fn(&str) -> bool) -> Option<Format> {
    if name == "skill.md" {
        return Some(Format::AgentSkill);
    }
    let in_rules =
        [".cursor/rules", ".windsurf/rules", ".clinerules", ".roo/rules", ".kiro/steering"];
    if RULES.contains(&name)
        || name.ends_with(".instructions.md")
        || name.ends_with(".mdc")
        || in_rules.iter().any(|folder| in_folder(folder))
    {
        return Some(Format::Rules);
    }
    let is_prompt = [".prompt.md", ".agent.md", ".chatmode.md"];
    if is_prompt.iter().any(|end| name.ends_with(end)) {
        return Some(Format::EditorPrompt);
    }
    let is_page = in_folder("docs") || in_folder("doc");
    if in_folder(".claude/commands") || in_folder("commands") && !is_page && has_front_matter(file)
    {
        return Some(Format::ClaudeCommand);
    }
    let fields = front_matter::split(&file.text()?).fields;
    let has = |name: &str| fields.contains_key(name);
    if has("on") && (has("engine") || has("tools") || has("safe-outputs") || has("permissions")) {
        return Some(Format::GhAwWorkflow);
    }
    if in_folder(".claude/agents")
        || (in_folder("agents") && !is_page && has("name") && has("description"))
    {
        return Some(Format::ClaudeSubagent);
    }
    if has("allowed-tools") || has("argument-hint") {
        return Some(Format::ClaudeCommand);
    }
    let is_original = has("version") || has("category") || has("id") || has("permissions");
    let is_knowledge = in_folder(".ai/knowledge") && (has("id") || has("name"));
    if in_folder(".ai/directives") && is_original || is_knowledge {
        return Some(Format::Original);
    }
    let has_model = fields.get("model").is_some_and(Value::is_string);
    let is_subagent = has("name") && has("description") && (has("tools") || has_model);
    is_subagent.then_some(Format::ClaudeSubagent)
}

fn has_front_matter(file: &SourceFile) -> bool {
    file.text().is_some_and(|text| front_matter::has(&text))
}

fn toml(file: &SourceFile, in_folder: &dyn Fn(&str) -> bool) -> Option<Format> {
    let value = rye_parse::config(&file.text()?, "toml").ok()?;
    let has = |name: &str| value.get(name).is_some();
    if value.get("mcp_servers").is_some_and(Value::is_object) {
        return Some(Format::McpServers);
    }
    let is_command = value.get("prompt").is_some_and(Value::is_string)
        && value
            .as_object()
            .is_some_and(|it| it.keys().all(|key| key == "prompt" || key == "description"));
    (is_command || (in_folder(".gemini/commands") && has("prompt")))
        .then_some(Format::GeminiCommand)
}

fn yaml(file: &SourceFile) -> Option<Format> {
    let value = rye_parse::config(&file.text()?, "yaml").ok()?;
    let has = |name: &str| value.get(name).is_some();
    if has("tool_type") || has("executor_id") {
        return Some(Format::Original);
    }
    if (has("instructions") || has("prompt"))
        && has("title")
        && (has("description") || has("version"))
    {
        return Some(Format::GooseRecipe);
    }
    let members = value.as_object()?;
    let is_crew = !members.is_empty()
        && members.values().all(|member| {
            let has = |name: &str| member.get(name).is_some();
            (has("role") && has("goal") && has("backstory"))
                || (has("description") && has("expected_output"))
        });
    is_crew.then_some(Format::CrewAi)
}

/// The members of client configurations that hold servers.
pub(crate) const SERVER_MEMBERS: [&str; 3] = ["mcpServers", "servers", "mcp_servers"];

fn json(file: &SourceFile, name: &str) -> Option<Format> {
    let value = json_value(file)?;
    if let Some(members) = value.as_object() {
        let servers = SERVER_MEMBERS.iter().find_map(|member| members.get(*member)?.as_object());
        let is_server = |server: &Value| {
            ["command", "url", "httpUrl", "serverUrl"].iter().any(|key| server.get(*key).is_some())
        };
        let nested =
            members.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
        let is_other =
            ["asyncapi", "openapi", "swagger"].iter().any(|key| members.contains_key(*key));
        if let Some(servers) = servers.or(nested).filter(|_| !is_other) {
            let is_client = members.contains_key("mcpServers")
                || name.contains("mcp")
                || servers.values().any(is_server);
            if is_client {
                return Some(Format::McpServers);
            }
        }
        // `.mcp.json` of plugins may have the servers alone.
        if name.ends_with("mcp.json") && !members.is_empty() && members.values().all(is_server) {
            return Some(Format::McpServers);
        }
        if members.contains_key("instructions") || members.contains_key("prompt") {
            let is_recipe = members.contains_key("title") && members.contains_key("description");
            if is_recipe {
                return Some(Format::GooseRecipe);
            }
        }
    }
    let tools = tools_of(&value)?;
    (!tools.is_empty() && tools.iter().all(is_tool)).then_some(Format::ToolSchemas)
}

/// The value of a JSON file. Comments and commas before a bracket, as editors write them, are passed over.
pub(crate) fn json_value(file: &SourceFile) -> Option<Value> {
    let text = file.text()?;
    serde_json::from_str(&text).ok().or_else(|| serde_json::from_str(&without_comments(&text)).ok())
}

fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut is_text = false;
    while let Some(letter) = letters.next() {
        match (is_text, letter, letters.peek()) {
            (true, '\\', _) => {
                plain.push(letter);
                plain.extend(letters.next());
                continue;
            }
            (_, '"', _) => is_text = !is_text,
            (false, '/', Some('/')) => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                letters.next();
                let mut last = ' ';
                for letter in letters.by_ref() {
                    if last == '*' && letter == '/' {
                        break;
                    }
                    last = letter;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let end = plain.trim_end();
                if let Some(before) = end.strip_suffix(',') {
                    plain.truncate(before.len());
                }
            }
            _ => {}
        }
        plain.push(letter);
    }
    plain
}

/// The tools of a file: a list, the member `tools`, `functions` or `result.tools`, or one tool.
pub(crate) fn tools_of(value: &Value) -> Option<Vec<Value>> {
    let list = |value: &Value| value.as_array().cloned();
    list(value)
        .or_else(|| ["tools", "functions"].iter().find_map(|member| list(value.get(*member)?)))
        .or_else(|| list(value.get("result")?.get("tools")?))
        .or_else(|| is_tool(value).then(|| vec![value.clone()]))
}

fn is_tool(value: &Value) -> bool {
    let tool = value.get("function").unwrap_or(value);
    let is_named = tool.get("name").is_some_and(Value::is_string);
    let has = |name: &str| tool.get(name).is_some_and(Value::is_object);
    let is_function = value.get("type").is_some_and(|kind| kind == "function");
    is_named && (is_function || has("parameters") || has("input_schema") || has("inputSchema"))
}

fn original_script(file: &SourceFile) -> Option<Format> {
    let text = file.text()?;
    let declared =
        |line: &str| line.trim_start_matches("export ").trim_start_matches("const ").to_owned();
    let has = |name: &str| text.lines().any(|line| declared(line).starts_with(name));
    (has("__tool_type__") || has("__executor_id__") || has("__tool_description__"))
        .then_some(Format::Original)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised() {
        for (path, text, expected) in [
            ("AGENTS.md", "# Rules", Some(Format::Rules)),
            ("docs/readme.md", "# Readme", None),
            (".cursor/rules/a.mdc", "---\nglobs: a\n---\nx", Some(Format::Rules)),
            (".claude/agents/a.md", "---\nname: a\n---\nx", Some(Format::ClaudeSubagent)),
            (
                "a.md",
                "---\nname: a\ndescription: b\ntools: Read\n---\nx",
                Some(Format::ClaudeSubagent),
            ),
            ("a.md", "---\ntitle: a\n---\nx", None),
            (".claude/commands/fix.md", "Fix it.", Some(Format::ClaudeCommand)),
            ("ci.md", "---\non: push\nengine: claude\n---\nx", Some(Format::GhAwWorkflow)),
            ("a.prompt.md", "x", Some(Format::EditorPrompt)),
            ("a.prompt", "x", Some(Format::Dotprompt)),
            ("a.prompty", "x", Some(Format::Prompty)),
            ("fix.toml", "prompt = \"x\"", Some(Format::GeminiCommand)),
            ("Cargo.toml", "[package]\nname = \"x\"", None),
            (
                "r.yaml",
                "title: a\ndescription: b\ninstructions: c\nversion: 1.0.0",
                Some(Format::GooseRecipe),
            ),
            ("agents.yaml", "a: {role: r, goal: g, backstory: b}", Some(Format::CrewAi)),
            ("docker-compose.yml", "services: {a: {image: b}}", None),
            (".mcp.json", r#"{"mcpServers": {"a": {"command": "b"}}}"#, Some(Format::McpServers)),
            (
                "mcp.json",
                "{\"servers\": {\"a\": {\"url\": \"b\"}}, // c\n}",
                Some(Format::McpServers),
            ),
            (
                "tools.json",
                r#"[{"type":"function","function":{"name":"a","parameters":{}}}]"#,
                Some(Format::ToolSchemas),
            ),
            (
                "tools.json",
                r#"{"tools":[{"name":"a","input_schema":{"type":"object"}}]}"#,
                Some(Format::ToolSchemas),
            ),
            ("package.json", r#"{"name":"a"}"#, None),
            ("t.py", "__tool_type__ = \"python\"\n", Some(Format::Original)),
            ("t.py", "print(1)\n", None),
        ] {
            assert_eq!(recognise_file(path, text.as_bytes()), expected, "{path}: {text}");
        }
    }

    #[test]
    fn a_file_belongs_to_one_part() {
        let file = |path: &str, text: &str| SourceFile::new(path, text);
        let source = Source::new(
            "x",
            [
                file("p/plugin.json", r#"{"name":"p"}"#),
                file("p/skills/a/SKILL.md", "---\nname: a\n---\n"),
                file("s/SKILL.md", "---\nname: s\n---\n"),
                file("s/AGENTS.md", "x"),
                file("AGENTS.md", "x"),
            ],
        );
        let found: Vec<(Format, String)> =
            recognise(&source).into_iter().map(|part| (part.format, part.path)).collect();
        let expected = [
            (Format::AgentPlugin, "p".to_owned()),
            (Format::AgentSkill, "s".to_owned()),
            (Format::Rules, "AGENTS.md".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
