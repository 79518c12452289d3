//! Subagents of Claude Code, after its public documentation.

use super::{ImportError, Importer, skill};
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::source::SourceFile;

/// Imports a subagent: its system prompt becomes the body of a directive, with an input for its task.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::ClaudeSubagent;
    let (mut fields, body) = importer.front_matter(file, format)?;
    let name = fields.text("name").unwrap_or_else(|| names::stem(&file.path, &[".md"]).to_owned());
    let id = importer.id("agents", &name);
    let mut document = importer.directive(id, &names::title(&name));
    importer.carry(&file.path, "name", &format!("the id of directive `{}`", document.id));
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    importer.body(&mut document, &file.path, place(&body, Style::None, None));
    skill::add_task(importer, &mut document, &file.path);
    skill::common(importer, &mut fields, &mut document);
    if let Some(turns) = fields.text("maxTurns") {
        importer.limit(&mut document, &file.path, "maxTurns", "turns", &turns);
    }
    for field in ["disallowedTools", "permissionMode"] {
        fields.leave(
            importer,
            field,
            "a draft grants nothing, so that there is nothing to take away",
        );
    }
    fields.leave(
        importer,
        "skills",
        "import the skills, and name what a directive needs of them in its `<context>`",
    );
    fields.leave(importer, "mcpServers", "import the servers from the client's configuration");
    fields.leave(
        importer,
        "hooks",
        "hooks of Rye have other events and actions; write them into `<hooks>`",
    );
    for field in ["color", "memory", "background", "effort", "isolation", "initialPrompt"] {
        fields.leave(importer, field, "it steers the other program");
    }
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}
