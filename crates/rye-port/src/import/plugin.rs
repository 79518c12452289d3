//! Agent Plugins after their specification 1.0, and plugins of Claude Code.

use serde_json::Value;

use super::{ImportError, Importer, join, own, servers, skill};
use crate::fields::Fields;
use crate::format::{Format, Found, is_below, recognise_file};
use crate::names;
use crate::report::Account as _;
use crate::source::{Source, SourceFile};

const FORMAT: Format = Format::AgentPlugin;

/// Imports all parts of the plugin in `folder`.
pub(super) fn read(
    importer: &mut Importer,
    source: &Source,
    folder: &str,
) -> Result<(), ImportError> {
    let manifests = ["plugin.json", ".claude-plugin/plugin.json"].map(|name| join(folder, name));
    let mut name = String::new();
    let mut author = None;
    for file in manifests.iter().filter_map(|path| source.file(path)) {
        importer.take(&file.path);
        let mut fields = importer.mapping(file, FORMAT, "json")?;
        if let Some(given) = fields.text("name") {
            importer.carry(&file.path, "name", "the folder of the items");
            name = given;
        }
        author = author.or(read_author(importer, &mut fields));
        for field in ["mcpServers", "mcp_servers"] {
            if fields.peek(field).is_some_and(Value::is_object)
                && let Some(Value::Object(members)) = fields.take(field)
            {
                servers::all(importer, &file.path, field, members);
            }
        }
        fields.leave(importer, "$schema", "no item has a schema of its own");
        for field in [
            "description",
            "version",
            "homepage",
            "repository",
            "license",
            "keywords",
            "displayName",
            "category",
            "tags",
        ] {
            fields.leave(
                importer,
                field,
                "it is about the plugin as a whole, and Rye has only its items",
            );
        }
        for field in ["commands", "agents", "skills", "mcpServers"] {
            fields.leave(
                importer,
                field,
                "the parts of the plugin are found by their form, wherever they lie",
            );
        }
        fields.leave(
            importer,
            "hooks",
            "hooks of Rye have other events and actions; write them into `<hooks>`",
        );
        fields.leave(importer, "extensions", "they are for certain other programs");
        fields.finish(importer);
    }
    if let Some(author) = author {
        importer.options.author = author;
    }
    let before = importer.folder.clone();
    if importer.options.to.is_none() {
        importer.folder = Some(names::segment(&name));
    }
    importer.is_single = false;
    let read = parts(importer, source, folder);
    importer.folder = before;
    read
}

fn read_author(importer: &mut Importer, fields: &mut Fields) -> Option<String> {
    let file = fields.file().to_owned();
    if let Some(mut author) = fields.mapping("author") {
        let name = author.text("name");
        if name.is_some() {
            importer.carry(&file, "author.name", "the author");
        }
        author.finish(importer);
        return name;
    }
    fields.text("author").inspect(|_| importer.carry(&file, "author", "the author"))
}

fn parts(importer: &mut Importer, source: &Source, folder: &str) -> Result<(), ImportError> {
    let below = |file: &&SourceFile| is_below(&file.path, folder);
    let skills: Vec<String> = source
        .files()
        .iter()
        .filter(below)
        .filter_map(|file| file.path.strip_suffix("/SKILL.md").map(str::to_owned))
        .collect();
    for skill in &skills {
        skill::read(importer, source, skill)?;
    }
    let inside = |file: &SourceFile| {
        file.path.strip_prefix(folder).unwrap_or(&file.path).trim_start_matches('/').to_owned()
    };
    for file in source.files().iter().filter(below) {
        if let Some((kind, id)) = own::place(&inside(file)) {
            own::read(importer, file, FORMAT, kind, id)?;
        }
    }
    // A skill at the root of the plugin has no folder of its own.
    let root = join(folder, "SKILL.md");
    if skills.is_empty() && source.file(&root).is_some() {
        skill::read(importer, source, folder)?;
    }
    for file in source.files().iter().filter(below) {
        if importer.is_taken(&file.path) {
            continue;
        }
        importer.take(&file.path);
        let inside = file.path.strip_prefix(folder).unwrap_or(&file.path).trim_start_matches('/');
        let is_hook = inside.starts_with("hooks/") || inside.ends_with("hooks.json");
        // The folder of a plugin says what a file is, also without front matter.
        let by_folder = [("commands/", Format::ClaudeCommand), ("agents/", Format::ClaudeSubagent)]
            .into_iter()
            .find(|(folder, _)| inside.starts_with(folder) && inside.ends_with(".md"))
            .map(|(_, format)| format);
        let part = by_folder
            .or_else(|| recognise_file(inside, &file.bytes))
            .map(|format| Found { format, path: file.path.clone() })
            .filter(|part| {
                !matches!(part.format, Format::AgentPlugin | Format::AgentSkill | Format::Rules)
            });
        match part {
            Some(part) if !is_hook => importer.file(file, &part)?,
            _ if is_hook => importer.leave(
                &file.path,
                "",
                "hooks of Rye have other events and actions; write them into `<hooks>`",
            ),
            _ if own::is_trust_document(inside) => {
                importer.leave(
                    &file.path,
                    "",
                    "`rye trust add` takes it, after you compared its fingerprint with its owner",
                );
            }
            _ => {
                importer.leave(
                    &file.path,
                    "",
                    "it is no skill, command, subagent or list of servers",
                );
            }
        }
    }
    Ok(())
}
