//! Commands of Claude Code and of Gemini CLI, after their public documentation.

use super::{ImportError, Importer, skill};
use crate::document::directive::DirectiveDocument;
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::report::Account as _;
use crate::source::SourceFile;

/// Imports a command of Claude Code.
pub(super) fn claude(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::ClaudeCommand;
    let (mut fields, body) = importer.front_matter(file, format)?;
    let mut document = of_path(importer, file, ".md");
    if let Some(name) = fields.text("name") {
        document.title = names::title(&name);
        importer.carry(&file.path, "name", "the title");
    }
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    leave_commands(importer, file, &body, "!`", '`');
    leave_files(importer, file, &body);
    importer.body(&mut document, &file.path, place(&body, Style::Arguments, None));
    skill::describe_arguments(importer, &mut fields, &mut document);
    if document.inputs.len() > 1 {
        let path = format!("directives/{}.md", document.id);
        importer.decide(&path, "its inputs are given each by itself: no text is split into words");
    }
    skill::common(importer, &mut fields, &mut document);
    for field in ["disable-model-invocation", "context", "agent", "hooks", "user-invocable"] {
        fields.leave(importer, field, "it steers the other program");
    }
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

/// Imports a command of Gemini CLI.
pub(super) fn gemini(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::GeminiCommand;
    let mut fields = importer.mapping(file, format, "toml")?;
    let mut document = of_path(importer, file, ".toml");
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    let body = fields.text("prompt").unwrap_or_default();
    leave_commands(importer, file, &body, "!{", '}');
    leave_commands(importer, file, &body, "@{", '}');
    let names = ["args".to_owned()];
    let mut placed = place(&body, Style::Mustache, Some(&names));
    placed.unmeant.clear();
    placed.inputs.iter_mut().for_each(|input| input.is_argument = true);
    importer.body(&mut document, &file.path, placed);
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

/// A directive whose id is the path of the file below the folder of commands.
fn of_path(importer: &mut Importer, file: &SourceFile, extension: &str) -> DirectiveDocument {
    let below = file.path.rsplit_once("commands/").map_or(file.name(), |(_, below)| below);
    let below = below.strip_suffix(extension).unwrap_or(below);
    let (folder, name) = below.rsplit_once('/').unwrap_or(("", below));
    let folders: Vec<String> =
        folder.split('/').filter(|part| !part.is_empty()).map(names::segment).collect();
    let folder =
        std::iter::once("commands".to_owned()).chain(folders).collect::<Vec<_>>().join("/");
    let id = importer.id(&folder, name);
    importer.carry(&file.path, "the name of the file", &format!("the id of directive `{id}`"));
    importer.directive(id, &names::title(name))
}

/// Says of each command line or file that the other program puts into the text that it stays as it is written.
fn leave_commands(importer: &mut Importer, file: &SourceFile, body: &str, open: &str, close: char) {
    let mut rest = body;
    while let Some((_, inside)) = rest.split_once(open) {
        let line = inside.split('\n').next().unwrap_or_default();
        let Some((words, _)) = line.split_once(close) else {
            rest = inside;
            continue;
        };
        let what = format!("`{open}{words}{close}`");
        let reason = if open.starts_with('@') {
            "no text of a file is placed into a prompt; let a step read it"
        } else {
            "nothing is run while a prompt is made; let a step run it"
        };
        importer.leave(&file.path, &what, reason);
        rest = inside;
    }
}

/// `@path` names a file whose text Claude Code puts into the prompt.
fn leave_files(importer: &mut Importer, file: &SourceFile, body: &str) {
    let is_path = |word: &&str| {
        word.strip_prefix('@').is_some_and(|path| {
            path.contains(['/', '.'])
                && path.starts_with(|c: char| c.is_ascii_alphanumeric() || "./~$".contains(c))
        })
    };
    for word in body.split_whitespace().filter(is_path) {
        let reason = "no text of a file is placed into a prompt; let a step read it, or make it knowledge of `<context>`";
        importer.leave(&file.path, &format!("`{word}`"), reason);
    }
}
