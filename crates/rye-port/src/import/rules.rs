//! Files of rules: AGENTS.md and its relatives, and any text that is to be knowledge.

use super::{ImportError, Importer, skill};
use crate::document::knowledge::KnowledgeDocument;
use crate::document::one_line;
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::source::SourceFile;

/// The ends of names that are no part of an id.
const ENDS: [&str; 6] = [".instructions.md", ".prompt.md", ".agent.md", ".mdc", ".mdx", ".md"];

/// Imports a text as knowledge.
pub(super) fn knowledge(
    importer: &mut Importer,
    file: &SourceFile,
    format: Format,
) -> Result<(), ImportError> {
    let (mut fields, body) = importer.front_matter(file, format)?;
    let stem = stem(file);
    let id = importer.id("rules", stem);
    let description = fields.text("description").unwrap_or_default();
    if !description.is_empty() {
        importer.carry(&file.path, "description", "the description");
    }
    let title = ["title", "name"].into_iter().find_map(|field| {
        let title = fields.text(field)?;
        importer.carry(&file.path, field, "the title");
        Some(title)
    });
    let title = title.or_else(|| skill::heading(&body)).unwrap_or_else(|| names::title(stem));
    let tags = fields.words("tags").inspect(|_| importer.carry(&file.path, "tags", "the tags"));
    for field in
        ["globs", "applyTo", "alwaysApply", "trigger", "inclusion", "fileMatchPattern", "paths"]
    {
        fields.leave(
            importer,
            field,
            "no rule applies by a pattern of files; name the knowledge in the `<context>` of the directives that need it",
        );
    }
    fields.finish(importer);
    importer.carry(&file.path, "the text", &format!("knowledge `{id}`"));
    let path = format!("knowledge/{id}.md");
    if body.trim().is_empty() {
        importer.decide(&path, "write a body: the source has none");
    }
    let mut what =
        "name it in the `<context>` of the directives that need it: nothing reads it by itself"
            .to_owned();
    let begins = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if format == Format::Rules && file.path.split('/').all(begins) {
        what += &format!(
            "; a directive can also name the file itself, with `<before file=\"{}\" />`, if it lies there in the project",
            file.path
        );
    }
    importer.decide(&path, &what);
    let document = KnowledgeDocument {
        title: one_line(&title),
        description,
        entry_type: "reference",
        author: String::new(),
        tags: tags.unwrap_or_default(),
        body,
        id,
    };
    importer.keep_knowledge(document, &file.path);
    Ok(())
}

/// Imports a text as the body of a directive, because the caller says so.
pub(super) fn directive(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let (mut fields, body) = importer.front_matter(file, Format::Rules)?;
    let stem = stem(file);
    let title = skill::heading(&body).unwrap_or_else(|| names::title(stem));
    let id = importer.id("prompts", stem);
    let mut document = importer.directive(id, &title);
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    importer.body(&mut document, &file.path, place(&body, Style::None, None));
    skill::common(importer, &mut fields, &mut document);
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

fn stem(file: &SourceFile) -> &str {
    let stem = names::stem(&file.path, &ENDS);
    if file.name().starts_with('.') { file.name().trim_start_matches('.') } else { stem }
}
