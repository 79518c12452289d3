//! Agent Plugins 1.0: a manifest, skills, the MCP server `rye mcp`, and a folder of Rye's own with the signed items.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::file::ExportedFile;
use super::skill::ExportedSkill;
use crate::import::own::PLUGIN_PROJECT;

/// The name of a plugin: 1 to 64 of `a-z`, `0-9`, `-` and `.`, with a letter or digit at each end, and without `--` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginName(String);

/// A text that is no name of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no name of a plugin; use 1 to 64 of `a-z`, `0-9`, `-` and `.`, a letter or digit at each end, and no `--` or `..`",
    .name.escape_debug()
)]
#[non_exhaustive]
pub struct PluginNameError {
    /// The text.
    pub name: String,
}

impl PluginName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PluginName {
    type Err = PluginNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_name = (1..=64).contains(&text.len())
            && text.chars().all(|c| is_plain(c) || matches!(c, '-' | '.'))
            && text.starts_with(is_plain)
            && text.ends_with(is_plain)
            && !text.contains("--")
            && !text.contains("..");
        match is_name {
            true => Ok(Self(text.to_owned())),
            false => Err(PluginNameError { name: text.to_owned() }),
        }
    }
}

/// The facts of a plugin's manifest.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PluginFacts {
    /// The name.
    pub name: PluginName,
    /// The version, if the plugin has one.
    pub version: Option<String>,
    /// The purpose.
    pub description: String,
}

impl PluginFacts {
    /// The facts of a plugin without a version.
    #[must_use]
    pub fn new(name: PluginName, description: String) -> Self {
        Self { name, version: None, description }
    }
}

/// Returns the files of a plugin. `own` are the files of the project in Rye's folder, with their paths below it.
///
/// `mcp.json` starts `rye mcp` over that project with the rights that every client has. It trusts no key: its user does that, with
/// `rye trust add`.
#[must_use]
pub fn plugin(
    facts: &PluginFacts,
    skills: &[ExportedSkill],
    own: Vec<ExportedFile>,
) -> Vec<ExportedFile> {
    let mut manifest = json!({
        "$schema": schema("plugin"),
        "name": facts.name.as_str(),
    });
    if let Some(version) = &facts.version {
        manifest["version"] = version.as_str().into();
    }
    manifest["description"] = facts.description.as_str().into();
    let servers = json!({
        "$schema": schema("mcp"),
        "mcpServers": {
            "rye": {
                "type": "stdio",
                "command": "rye",
                "args": ["mcp", "--project", format!("${{PLUGIN_ROOT}}/{PLUGIN_PROJECT}")],
            },
        },
    });
    let mut files = vec![
        ExportedFile::new("plugin.json", document(&manifest)),
        ExportedFile::new("mcp.json", document(&servers)),
    ];
    files.extend(skills.iter().map(|skill| {
        ExportedFile::new(format!("skills/{}/SKILL.md", skill.frontmatter.name), &*skill.text)
    }));
    let own = own.into_iter();
    files.extend(
        own.map(|file| ExportedFile::new(format!("{PLUGIN_PROJECT}/{}", file.path), file.text)),
    );
    files
}

fn schema(name: &str) -> String {
    format!("https://agent-plugins.org/schemas/1.0.0/{name}.schema.json")
}

fn document(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plugins() {
        for name in ["a", "my-plugin", "acme.tools", "lint3r", "0-a.b"] {
            assert_eq!(
                name.parse::<PluginName>().map(|name| name.to_string()),
                Ok(name.to_owned())
            );
        }
        let long = "a".repeat(65);
        for name in ["", "My-Plugin", "-start", "end.", "has--double", "too..many", "a b", &long] {
            let error = name.parse::<PluginName>().unwrap_err();
            assert!(error.to_string().contains("is no name of a plugin"), "{error}");
        }
    }

    #[test]
    fn a_plugin_starts_rye_over_its_own_project() {
        let facts = PluginFacts::new("notes".parse().unwrap(), "Notes.".to_owned());
        let own = vec![ExportedFile::new(".ai/directives/a.md", "# A\n")];
        let files = plugin(&facts, &[], own);
        let told: String =
            files.iter().map(|file| format!("--- {}\n{}", file.path, file.text)).collect();
        insta::assert_snapshot!("plugin", told);
    }
}
