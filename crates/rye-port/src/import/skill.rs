//! Agent Skills: a folder with `SKILL.md`, after the specification of agentskills.io, with the fields that Claude Code adds.

use rye_resolve::ItemId;
use rye_types::ItemKind;

use super::{ImportError, Importer, join, own};
use crate::document::directive::{DirectiveDocument, InputPart};
use crate::document::knowledge::KnowledgeDocument;
use crate::document::{one_line, script};
use crate::draft::ImportedDraft;
use crate::fields::{Fields, scalar};
use crate::format::{Format, is_below};
use crate::names;
use crate::placing::{Style, place};
use crate::report::Account as _;
use crate::report::Asked;
use crate::source::{Source, SourceFile};

const FORMAT: Format = Format::AgentSkill;

/// Imports the skill in `folder`: its text as a directive, its scripts as tools, and its other texts as knowledge.
pub(super) fn read(
    importer: &mut Importer,
    source: &Source,
    folder: &str,
) -> Result<(), ImportError> {
    let path = join(folder, "SKILL.md");
    let Some(file) = source.file(&path) else { return Ok(()) };
    importer.take(&path);
    let (mut fields, body) = importer.front_matter(file, FORMAT)?;
    if let Some(id) = own::take_mark(&mut fields) {
        return of_directive(importer, source, folder, &path, &id);
    }
    let folder_name = folder.rsplit('/').next().filter(|name| !name.is_empty());
    let name = fields
        .text("name")
        .unwrap_or_else(|| folder_name.unwrap_or_else(|| source.name()).to_owned());
    let id = importer.id("skills", &name);
    let mut document = importer.directive(id, &names::title(&name));
    importer.carry(&path, "name", &format!("the id of directive `{}`", document.id));
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&path, "description", "the description");
    }
    let style = if body.contains("$ARGUMENTS[") || fields.has("arguments") {
        Style::Arguments
    } else {
        Style::WholeArguments
    };
    importer.body(&mut document, &path, place(&body, style, None));
    describe_arguments(importer, &mut fields, &mut document);
    add_task(importer, &mut document, &path);
    common(importer, &mut fields, &mut document);
    fields.leave(
        importer,
        "license",
        "no item says its licence; keep the files of the licence beside the drafts",
    );
    fields.leave(
        importer,
        "compatibility",
        "Rye does not read it; it is about the program around the skill",
    );
    for field in [
        "disable-model-invocation",
        "user-invocable",
        "context",
        "agent",
        "paths",
        "shell",
        "hooks",
        "effort",
    ] {
        fields.leave(
            importer,
            field,
            "it steers the other program, which offers skills to its model by itself",
        );
    }
    companions(importer, source, folder, &mut document);
    fields.finish(importer);
    importer.keep_directive(document, &path);
    Ok(())
}

/// Imports a skill that was made of a directive: the directive that comes along, or nothing, if the skill only calls it.
fn of_directive(
    importer: &mut Importer,
    source: &Source,
    folder: &str,
    path: &str,
    id: &ItemId,
) -> Result<(), ImportError> {
    let Some(file) = source.file(&join(folder, own::DIRECTIVE)) else {
        let reason = format!(
            "it only calls directive `{id}` of Rye, and does not hold it; a skill that `rye export skill --text` writes does"
        );
        importer.leave(path, "", &reason);
        return Ok(());
    };
    let reason =
        format!("it is the text of directive `{id}`, which `{}` beside it holds", own::DIRECTIVE);
    importer.leave(path, "", &reason);
    // The caller decides, as for every other skill.
    let to = importer.options.to.clone().filter(|_| importer.is_single);
    let id = to.unwrap_or_else(|| id.clone());
    own::read(importer, file, FORMAT, ItemKind::Directive, id.clone())?;
    own::name_needs(importer, &id);
    Ok(())
}

/// The fields that skills, subagents and commands share.
pub(super) fn common(
    importer: &mut Importer,
    fields: &mut Fields,
    document: &mut DirectiveDocument,
) {
    let file = fields.file().to_owned();
    for field in ["allowed-tools", "allowed_tools", "tools"] {
        if let Some(tools) = fields.words(field) {
            importer.ask(document, &file, &tools);
        }
    }
    if let Some(model) = fields.text("model") {
        importer.model(document, &file, "model", &model);
    }
    let mut metadata = fields.mapping("metadata");
    for fields in std::iter::once(&mut *fields).chain(metadata.as_mut()) {
        if let Some(version) = fields.text("version") {
            let field = fields.name("version");
            set_version(importer, document, &file, &field, &version);
        }
        if let Some(author) = fields.text("author") {
            document.author = one_line(&author);
            importer.carry(&file, &fields.name("author"), "the author");
        }
    }
    if let Some(metadata) = metadata {
        metadata.finish(importer);
    }
}

/// Sets the version, with the numbers that a semantic version has more.
pub(super) fn set_version(
    importer: &mut Importer,
    document: &mut DirectiveDocument,
    file: &str,
    field: &str,
    version: &str,
) {
    let numbers: Vec<&str> = version.trim().trim_start_matches('v').split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_digit())
            && (*part == "0" || !part.starts_with('0'))
    };
    if numbers.len() <= 3 && numbers.iter().all(is_number) {
        document.version =
            numbers.iter().copied().chain(["0"; 2]).take(3).collect::<Vec<_>>().join(".");
        importer.carry(file, field, "the version");
    } else {
        importer.leave(
            file,
            field,
            &format!("`{version}` is no semantic version; the draft has 0.1.0"),
        );
    }
}

/// Describes the input `arguments` by the hint of the source.
pub(super) fn describe_arguments(
    importer: &mut Importer,
    fields: &mut Fields,
    document: &mut DirectiveDocument,
) {
    let Some(hint) = fields.text("argument-hint") else { return };
    let file = fields.file().to_owned();
    match document.inputs.iter_mut().find(|input| input.name == "arguments") {
        Some(input) => {
            input.description = one_line(&hint);
            importer.carry(&file, "argument-hint", "the description of the input `arguments`");
        }
        None => importer.leave(&file, "argument-hint", "the text has no place for the arguments"),
    }
}

/// Adds an input for the task, which the other program takes from its conversation.
pub(super) fn add_task(importer: &mut Importer, document: &mut DirectiveDocument, file: &str) {
    if !document.inputs.is_empty() {
        return;
    }
    document.inputs.push(InputPart {
        name: "task".to_owned(),
        default: Some(String::new()),
        description: "The task, which other programs take from their conversation".to_owned(),
        ..InputPart::default()
    });
    document.body = format!("{}\n\n{{input:task}}", document.body.trim());
    importer.carry(
        file,
        "the conversation around it",
        "the input `task`, whose place is at the end of the body",
    );
}

/// Imports the files beside `SKILL.md`.
fn companions(
    importer: &mut Importer,
    source: &Source,
    folder: &str,
    document: &mut DirectiveDocument,
) {
    let beside: Vec<&SourceFile> = source
        .files()
        .iter()
        .filter(|file| is_below(&file.path, folder) && !importer.is_taken(&file.path))
        .collect();
    let mut ids: Vec<String> = Vec::new();
    for file in &beside {
        importer.take(&file.path);
        let inside = file.path.strip_prefix(folder).unwrap_or(&file.path).trim_start_matches('/');
        let id = companion_id(document, file, &mut ids);
        let is_mentioned = document.body.contains(inside) || document.body.contains(file.name());
        if script::is_program(file.name()) {
            script_tool(importer, file, inside, &id, &beside, document);
        } else if is_licence(file.name()) {
            importer.leave(&file.path, "", "it is a licence; keep it beside the drafts");
        } else if let Some(text) = readable_text(file) {
            let knowledge = KnowledgeDocument {
                title: heading(&text).unwrap_or_else(|| names::title(id.name())),
                description: String::new(),
                entry_type: "reference",
                author: String::new(),
                tags: Vec::new(),
                body: text,
                id: id.clone(),
            };
            importer.carry(&file.path, "", &format!("knowledge `{id}`"));
            importer.keep_knowledge(knowledge, &file.path);
            ask_own(
                importer,
                document,
                &file.path,
                &format!("read {inside}"),
                "load",
                "knowledge",
                &id,
            );
            if is_mentioned {
                let path = format!("{}/{}.md", ItemKind::Directive.folder(), document.id);
                importer.decide(
                    &path,
                    &format!("its text names `{inside}`, which is knowledge `{id}` now"),
                );
            }
        } else {
            importer.leave(
                &file.path,
                "",
                "no item holds it; copy it into the project, and name it by its path there: a script of a tool starts in the folder of the project",
            );
        }
    }
}

fn companion_id(document: &DirectiveDocument, file: &SourceFile, ids: &mut Vec<String>) -> ItemId {
    let stem = names::stem(&file.path, &[]);
    let mut id = names::id(document.id.as_str(), stem);
    let mut number = 2;
    while ids.contains(&id.as_str().to_ascii_lowercase()) {
        id = names::id(document.id.as_str(), &format!("{stem}-{number}"));
        number += 1;
    }
    ids.push(id.as_str().to_ascii_lowercase());
    id
}

/// Texts that people read. Data and templates are for programs, and their bytes matter.
fn readable_text(file: &SourceFile) -> Option<String> {
    let extension = file.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_text =
        ["md", "mdx", "txt", "rst", "adoc"].contains(&extension.to_ascii_lowercase().as_str());
    const MOST: usize = 1 << 20;
    if !is_text || file.bytes.len() > MOST {
        return None;
    }
    file.text().filter(|text| !text.trim().is_empty())
}

fn is_licence(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("license") || name.starts_with("licence") || name.starts_with("notice")
}

/// The first heading of a Markdown text.
pub(super) fn heading(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("# "))?;
    Some(one_line(line)).filter(|line| !line.is_empty())
}

fn script_tool(
    importer: &mut Importer,
    file: &SourceFile,
    inside: &str,
    id: &ItemId,
    beside: &[&SourceFile],
    document: &mut DirectiveDocument,
) {
    let extension = file.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let Some(text) = file.text() else {
        importer.leave(&file.path, "", "it is a program and no text");
        return;
    };
    let description = script_description(&text)
        .unwrap_or_else(|| format!("Runs {inside} of the skill {}.", document.id.name()));
    let Some(tool) = script::tool(extension, &description, &text) else {
        let reason =
            format!("no tool is a script in `.{extension}`; write a `command` tool that starts it");
        importer.leave(&file.path, "", &reason);
        return;
    };
    let draft =
        ImportedDraft::new(ItemKind::Tool, id.clone(), tool.extension, tool.text, &file.path);
    importer.carry(
        &file.path,
        "",
        &format!("tool `{id}`, whose argument `args` is the command line"),
    );
    let loads = |other: &&&SourceFile| {
        let stem = names::stem(&other.path, &[]);
        other.path != file.path
            && (text.contains(other.name())
                || [format!("import {stem}"), format!("from {stem}"), format!("./{stem}")]
                    .iter()
                    .any(|words| text.contains(words.as_str())))
    };
    if let Some(other) = beside.iter().find(loads) {
        let what = format!(
            "the script uses `{}`, and a script of a tool loads no file beside it; put the two together, or start it by a `command` tool",
            other.name()
        );
        importer.decide(&draft.path, &what);
    }
    ask_own(importer, document, &file.path, &format!("run {inside}"), "execute", "tool", id);
    let directive = format!("{}/{}.md", ItemKind::Directive.folder(), document.id);
    if document.body.contains(inside) || document.body.contains(file.name()) {
        importer
            .decide(&directive, &format!("its text runs `{inside}`, which is the tool `{id}` now"));
    }
    importer.keep(draft);
}

/// The first line of a script's documentation.
fn script_description(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("#!"))
        .skip_while(|line| line.trim().is_empty());
    for line in lines.take(6) {
        let trimmed = line.trim();
        let words = trimmed
            .strip_prefix("\"\"\"")
            .or_else(|| trimmed.strip_prefix("'''"))
            .or_else(|| trimmed.strip_prefix("/**"))
            .or_else(|| trimmed.strip_prefix("//"))
            .or_else(|| trimmed.strip_prefix('#'))
            .unwrap_or_else(|| if line.starts_with([' ', '*']) { trimmed } else { "" });
        let words = one_line(words.trim_matches(['"', '\'', '*', '/', '#', '-', '=', ' ']));
        let is_remark = ["///", "coding", "eslint", "pylint", "shellcheck", "type:", "set -"]
            .iter()
            .any(|mark| words.starts_with(mark) || words.contains("-*-"));
        if words.len() > 3 && !is_remark {
            return Some(words);
        }
    }
    None
}

/// Notes that a directive needs an item of its own skill.
fn ask_own(
    importer: &mut Importer,
    document: &mut DirectiveDocument,
    file: &str,
    asked: &str,
    primary: &str,
    kind: &str,
    id: &ItemId,
) {
    let pattern = id.as_str().replace('/', ".");
    let asked = Asked {
        file: file.to_owned(),
        asked: asked.to_owned(),
        entries: vec![format!("<{primary}><{kind}>{pattern}</{kind}></{primary}>")],
        note: String::new(),
    };
    document.asked.push(asked.clone());
    importer.import.asked.push(asked);
}

/// The texts of a list of a field, each as one word.
pub(super) fn texts(fields: &mut Fields, name: &str) -> Vec<String> {
    match fields.take(name) {
        Some(serde_json::Value::Array(values)) => values.iter().filter_map(scalar).collect(),
        Some(value) => scalar(&value).into_iter().collect(),
        None => Vec::new(),
    }
}
