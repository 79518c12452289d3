//! The import of a source: recognise, map, report (SPEC 17.1).

mod agents;
mod commands;
mod crew;
mod original;
pub(crate) mod own;
mod plugin;
mod prompts;
mod recipe;
mod rules;
mod servers;
mod skill;
mod tools;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};

use rye_resolve::ItemId;
use rye_types::ItemKind;
use serde_json::{Map, Value};

use crate::asked;
use crate::document::directive::{DirectiveDocument, InputPart};
use crate::document::knowledge::KnowledgeDocument;
use crate::draft::ImportedDraft;
use crate::fields::Fields;
use crate::format::{Format, Found, recognise, recognise_file};
use crate::front_matter;
use crate::models;
use crate::names;
use crate::placing::{Placed, Style, place};
use crate::report::{Account, Asked, Carried, Decision, LeftOut, UNKNOWN};
use crate::source::{Source, SourceFile};

/// The kind of item that a source becomes, where the caller says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the four kinds of SPEC 17.1")]
pub enum Target {
    /// A directive whose body is the text.
    Directive,
    /// A knowledge entry whose body is the text.
    Knowledge,
    /// A tool: a script, or the schemas of tools.
    Tool,
    /// Servers of an MCP client.
    Server,
}

/// The choices of an import.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The kind of item to make, in place of the one that the format is made into.
    pub target: Option<Target>,
    /// The id of the one item, or the folder of several.
    pub to: Option<ItemId>,
    /// The author of drafts whose source names none.
    pub author: String,
    /// The tier of directives whose source names no model.
    pub tier: String,
    /// The limits of directives whose source sets none: attributes of `<limits>` with their values.
    pub limits: Vec<(&'static str, String)>,
}

impl ImportOptions {
    /// Creates options with the limits of directives that set none.
    #[must_use]
    pub fn new(author: &str, tier: &str, limits: Vec<(&'static str, String)>) -> Self {
        let (author, tier) = (author.to_owned(), tier.to_owned());
        Self { target: None, to: None, author, tier, limits }
    }
}

/// The drafts of a source, and the account of each of its fields.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Import {
    /// The parts that were recognised.
    pub found: Vec<Found>,
    /// The files that would be written.
    pub drafts: Vec<ImportedDraft>,
    /// The servers for `config/mcp/servers.yaml`, by name.
    pub servers: Map<String, Value>,
    /// The fields that drafts have.
    pub carried: Vec<Carried>,
    /// The fields and files that no draft has.
    pub left_out: Vec<LeftOut>,
    /// The permissions that the source asks for, of which none is granted.
    pub asked: Vec<Asked>,
    /// The decisions that are left to a person.
    pub decisions: Vec<Decision>,
}

/// A source that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No format fits.
    #[error(
        "`{name}` has no form that is known; with `--as directive` or `--as knowledge`, its text becomes the body of one"
    )]
    Unknown {
        /// The name of the source.
        name: String,
    },
    /// It is an item of Rye.
    #[error("`{name}` is an item of Rye already; copy it below `.ai`, and sign it")]
    Own {
        /// The name of the source.
        name: String,
    },
    /// A file is not in the form that its format has.
    #[error("`{path}` is {phrase}, and cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The format, as a phrase.
        phrase: String,
        /// The reason.
        reason: String,
    },
    /// The format cannot become the wanted kind.
    #[error("`{path}` is {phrase}, of which no {target} is made; leave out `--as`")]
    NotSuch {
        /// The file or folder.
        path: String,
        /// The format, as a phrase.
        phrase: String,
        /// The kind that was wanted.
        target: &'static str,
    },
    /// A draft is not what Rye reads.
    #[error("`{path}` cannot become `{draft}`: {reason}")]
    Unfit {
        /// The file of the source.
        path: String,
        /// The path of the draft below `.ai`.
        draft: String,
        /// The reason.
        reason: String,
    },
}

/// Imports a source: all of its parts, or nothing.
///
/// # Errors
///
/// When nothing is recognised, when a file is not in the form of its format, or when a draft would not be read.
pub fn import(source: &Source, options: &ImportOptions) -> Result<Import, ImportError> {
    let mut importer = Importer {
        options: options.clone(),
        import: Import::default(),
        used: BTreeSet::new(),
        taken: BTreeSet::new(),
        is_single: true,
        folder: None,
    };
    let parts = parts(source, options)?;
    importer.is_single = parts.len() == 1;
    for part in &parts {
        importer.part(source, part)?;
    }
    importer.import.found = parts;
    importer.finish(source)
}

/// The parts of a source. A file of no known form is one part if the caller says what to make of it.
fn parts(source: &Source, options: &ImportOptions) -> Result<Vec<Found>, ImportError> {
    let found = recognise(source);
    let is_directive =
        |file: &SourceFile| file.text().is_some_and(|text| rye_parse::directive(&text).is_ok());
    let unknown = || {
        let name = source.name().to_owned();
        match source.files() {
            [file] if is_directive(file) => ImportError::Own { name },
            _ => ImportError::Unknown { name },
        }
    };
    match (found.is_empty(), options.target, source.files()) {
        (false, ..) => Ok(found),
        (true, Some(Target::Directive | Target::Knowledge), [file]) => {
            let format = recognise_file(&file.path, &file.bytes).unwrap_or(Format::Rules);
            Ok(vec![Found { format, path: file.path.clone() }])
        }
        _ => Err(unknown()),
    }
}

/// The import while it is made.
#[derive(Debug)]
pub(crate) struct Importer {
    pub(crate) options: ImportOptions,
    pub(crate) import: Import,
    /// The ids that items have, in small letters.
    used: BTreeSet<String>,
    /// The files of the source that a reader has said something of.
    taken: BTreeSet<String>,
    /// The source is one part, so that `to` is its id.
    pub(crate) is_single: bool,
    /// The folder of a plugin's items, in place of the one of each format.
    pub(crate) folder: Option<String>,
}

impl Importer {
    fn part(&mut self, source: &Source, part: &Found) -> Result<(), ImportError> {
        match (part.format, self.options.target) {
            (Format::AgentPlugin, None) => return plugin::read(self, source, &part.path),
            (Format::AgentSkill, None | Some(Target::Directive)) => {
                return skill::read(self, source, &part.path);
            }
            _ => {}
        }
        let file = match part.format {
            Format::AgentSkill => source.file(&join(&part.path, "SKILL.md")),
            _ => source.file(&part.path),
        };
        let Some(file) = file else {
            return Err(self.not_such(part));
        };
        self.take(&file.path);
        self.file(file, part)
    }

    /// Imports a part that is one file.
    pub(crate) fn file(&mut self, file: &SourceFile, part: &Found) -> Result<(), ImportError> {
        use Format as F;
        use Target as T;
        match (part.format, self.options.target) {
            (F::McpServers, None | Some(T::Server)) => servers::read(self, file),
            (F::ToolSchemas, None | Some(T::Tool)) => tools::read(self, file),
            (F::Original, None) => original::read(self, file),
            (F::Original, Some(T::Tool)) if file.path.ends_with(".py") => {
                original::read(self, file)
            }
            (F::CrewAi, None | Some(T::Directive)) => crew::read(self, file),
            (F::GooseRecipe, None | Some(T::Directive)) => recipe::read(self, file),
            (F::GeminiCommand, None | Some(T::Directive)) => commands::gemini(self, file),
            (F::ClaudeSubagent, None | Some(T::Directive)) => agents::read(self, file),
            (F::ClaudeCommand, None | Some(T::Directive)) => commands::claude(self, file),
            (F::GhAwWorkflow, None | Some(T::Directive)) => workflow::read(self, file),
            (F::Dotprompt, None | Some(T::Directive)) => prompts::dotprompt(self, file),
            (F::Prompty, None | Some(T::Directive)) => prompts::prompty(self, file),
            (F::EditorPrompt, None | Some(T::Directive)) => prompts::editor(self, file),
            (F::Rules, None) => rules::knowledge(self, file, F::Rules),
            (F::Rules, Some(T::Directive)) => rules::directive(self, file),
            // Any text may be knowledge.
            (
                F::AgentSkill
                | F::Rules
                | F::ClaudeSubagent
                | F::ClaudeCommand
                | F::EditorPrompt
                | F::Dotprompt
                | F::Prompty
                | F::GhAwWorkflow,
                Some(T::Knowledge),
            ) => rules::knowledge(self, file, part.format),
            _ => Err(self.not_such(part)),
        }
    }

    fn not_such(&self, part: &Found) -> ImportError {
        let target = match self.options.target {
            Some(Target::Directive) => "directive",
            Some(Target::Knowledge) => "knowledge",
            Some(Target::Tool) => "tool",
            Some(Target::Server) => "server",
            None => "draft",
        };
        ImportError::NotSuch {
            path: part.path.clone(),
            phrase: part.format.phrase().to_owned(),
            target,
        }
    }

    /// Says that a file of the source is dealt with.
    pub(crate) fn take(&mut self, path: &str) {
        self.taken.insert(path.to_owned());
    }

    pub(crate) fn is_taken(&self, path: &str) -> bool {
        self.taken.contains(path)
    }

    pub(crate) fn carry(&mut self, file: &str, field: &str, to: &str) {
        let (file, field, to) = (file.to_owned(), field.to_owned(), to.to_owned());
        self.import.carried.push(Carried { file, field, to });
    }

    pub(crate) fn decide(&mut self, path: &str, what: &str) {
        let (path, what) = (path.to_owned(), what.to_owned());
        self.import.decisions.push(Decision { path, what });
    }

    /// Returns the id of an item: `to`, where the source is one item, and else a name below `to` or below the folder of the format.
    ///
    /// A second item of one name gets a number.
    pub(crate) fn id(&mut self, folder: &str, name: &str) -> ItemId {
        let folder = match &self.options.to {
            Some(to) if self.is_single => return to.clone(),
            Some(to) => to.as_str(),
            None => self.folder.as_deref().unwrap_or(folder),
        };
        let numbered = |number: u32| match number {
            1 => names::id(folder, name),
            _ => names::id(folder, &format!("{name}-{number}")),
        };
        let is_free = |id: &ItemId| !self.used.contains(&id.as_str().to_ascii_lowercase());
        let id = (1..=u32::MAX).map(numbered).find(is_free).unwrap_or_else(|| numbered(1));
        self.used.insert(id.as_str().to_ascii_lowercase());
        id
    }

    /// A directive with the defaults of the options.
    pub(crate) fn directive(&self, id: ItemId, title: &str) -> DirectiveDocument {
        DirectiveDocument {
            name: None,
            has_own_places: false,
            title: title.to_owned(),
            description: String::new(),
            version: "0.1.0".to_owned(),
            author: self.options.author.clone(),
            extends: None,
            tier: self.options.tier.clone(),
            limits: self.options.limits.clone(),
            asked: Vec::new(),
            context: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            body: String::new(),
            id,
        }
    }

    /// Sets the tier by the name of a model, and says so.
    pub(crate) fn model(
        &mut self,
        document: &mut DirectiveDocument,
        file: &str,
        field: &str,
        model: &str,
    ) {
        match models::tier(model) {
            Some(tier) => {
                tier.clone_into(&mut document.tier);
                let to = format!("the tier `{tier}`, to which each provider has a model");
                self.carry(file, &format!("{field} `{model}`"), &to);
            }
            None => {
                let tier = document.tier.clone();
                let reason = format!("`{model}` tells no tier; the draft has `{tier}`");
                self.leave(file, field, &reason);
            }
        }
    }

    /// Sets a limit, and says so.
    pub(crate) fn limit(
        &mut self,
        document: &mut DirectiveDocument,
        file: &str,
        field: &str,
        limit: &'static str,
        value: &str,
    ) {
        let is_number = match limit {
            "spend" => value.parse::<f64>().is_ok_and(|number| number > 0.0 && number < 1e6),
            _ => value.parse::<u64>().is_ok_and(|number| number > 0),
        };
        if !is_number {
            self.leave(
                file,
                field,
                &format!("`{value}` is no limit; the draft has that of the configuration"),
            );
            return;
        }
        match document.limits.iter_mut().find(|(name, _)| *name == limit) {
            Some((_, known)) => value.clone_into(known),
            None => document.limits.push((limit, value.to_owned())),
        }
        self.carry(file, field, &format!("the limit `{limit}=\"{value}\"`"));
    }

    /// Notes tools that the source asks for.
    pub(crate) fn ask(&mut self, document: &mut DirectiveDocument, file: &str, tools: &[String]) {
        for tool in tools {
            let asked = asked::tool(file, tool);
            document.asked.push(asked.clone());
            self.import.asked.push(asked);
        }
    }

    /// Takes over a body with its places, and the inputs that it names and that are not declared.
    pub(crate) fn body(&mut self, document: &mut DirectiveDocument, file: &str, placed: Placed) {
        for markup in &placed.unmeant {
            let reason =
                format!("Rye has no such placeholder; `{markup}` stays in the body as text");
            self.leave(file, &format!("`{markup}`"), &reason);
        }
        for input in placed.inputs {
            if document.inputs.iter().any(|known| known.name == input.name) {
                self.carry(
                    file,
                    &format!("placeholder `{}`", input.source),
                    &format!("the input `{}` of directive `{}`", input.name, document.id),
                );
                continue;
            }
            self.carry(
                file,
                &format!("placeholder `{}`", input.source),
                &format!("the input `{}` of directive `{}`", input.name, document.id),
            );
            document.inputs.push(InputPart {
                description: input.hint.unwrap_or_else(|| names::title(&input.name)),
                is_required: !input.is_argument,
                default: input.is_argument.then(String::new),
                name: input.name,
                ..InputPart::default()
            });
        }
        document.body = placed.text;
        self.carry(file, "the text", &format!("the body of directive `{}`", document.id));
    }

    /// Takes over a body whose placeholders are Rye's.
    pub(crate) fn body_as_it_is(
        &mut self,
        document: &mut DirectiveDocument,
        file: &str,
        body: &str,
    ) {
        body.trim().clone_into(&mut document.body);
        self.carry(file, "the text", &format!("the body of directive `{}`", document.id));
    }

    /// Keeps a directive as a draft.
    pub(crate) fn keep_directive(&mut self, mut document: DirectiveDocument, file: &str) {
        let path = format!("{}/{}.md", ItemKind::Directive.folder(), document.id);
        self.mend_ports(&mut document, file);
        if document.description.trim().is_empty() {
            document.description = format!("{}.", document.title.trim_end_matches('.'));
            self.decide(
                &path,
                "say in `<description>` what the directive does: the source does not",
            );
        }
        if document.body.trim().is_empty() {
            self.decide(&path, "write a body: the source has none");
        }
        if document.author.is_empty() {
            self.decide(&path, "name yourself or its author in `<author>`: the source names none");
            document.author = "unknown".to_owned();
        }
        if !document.asked.is_empty() {
            self.decide(&path, "grant what it needs in `<permissions>`: a comment above it has what the source asks for, and `rye check` says which risk to acknowledge");
        }
        let draft = ImportedDraft::new(
            ItemKind::Directive,
            document.id.clone(),
            "md",
            document.text(),
            file,
        );
        self.keep(draft);
    }

    /// Leaves out what an input cannot have: a name twice, values with a comma, and a default that does not fit.
    fn mend_ports(&mut self, document: &mut DirectiveDocument, file: &str) {
        // Descriptions of outputs have places, as a body has.
        for output in document.outputs.iter_mut().filter(|_| !document.has_own_places) {
            output.description = place(&output.description, Style::None, None).text;
        }
        let mut names = BTreeSet::new();
        for input in &mut document.inputs {
            let name = input.name.clone();
            if !names.insert(name.clone()) {
                let field = format!("input `{name}`");
                self.leave(
                    file,
                    &field,
                    "another input has this name, and both are one now; name one of them anew",
                );
            }
            let is_bad = |value: &String| value.trim().is_empty() || value.contains(',');
            if input.values.iter().any(is_bad) {
                let values = input.values.join(" | ");
                let field = format!("values of the input `{name}`");
                self.leave(
                    file,
                    &field,
                    &format!("no value of an enum is empty or has a comma; they were: {values}"),
                );
                input.values.clear();
            }
            let fits = |default: &String| {
                let is_of_kind = match input.kind.as_str() {
                    "integer" => default.parse::<i64>().is_ok(),
                    "number" => default.parse::<f64>().is_ok(),
                    "boolean" => default == "true" || default == "false",
                    "array" => serde_json::from_str::<Vec<Value>>(default).is_ok(),
                    "object" => serde_json::from_str::<Map<String, Value>>(default).is_ok(),
                    _ => true,
                };
                is_of_kind && (input.values.is_empty() || input.values.contains(default))
            };
            if let Some(default) = input.default.take_if(|default| !fits(default)) {
                let field = format!("default of the input `{name}`");
                self.leave(
                    file,
                    &field,
                    &format!("`{default}` does not fit the type or the values"),
                );
            }
        }
        let mut known = BTreeSet::new();
        document.inputs.retain(|input| known.insert(input.name.clone()));
        let mut known = BTreeSet::new();
        document.outputs.retain(|output| known.insert(output.name.clone()));
    }

    /// Keeps a knowledge entry as a draft.
    pub(crate) fn keep_knowledge(&mut self, mut document: KnowledgeDocument, file: &str) {
        if document.author.is_empty() {
            document.author.clone_from(&self.options.author);
        }
        if document.author.is_empty() {
            document.author = "unknown".to_owned();
        }
        let draft = ImportedDraft::new(
            ItemKind::Knowledge,
            document.id.clone(),
            "md",
            document.text(),
            file,
        );
        self.keep(draft);
    }

    pub(crate) fn keep(&mut self, draft: ImportedDraft) {
        self.import.drafts.push(draft);
    }

    /// Splits a Markdown file, and says if its metadata is no YAML.
    pub(crate) fn front_matter(
        &mut self,
        file: &SourceFile,
        format: Format,
    ) -> Result<(Fields, String), ImportError> {
        let text = self.text(file, format)?;
        let split = front_matter::split(&text);
        if let Some(fault) = &split.fault {
            let reason =
                format!("the metadata is no YAML ({fault}), and was read line by line, as texts");
            self.leave(&file.path, "---", &reason);
        }
        Ok((Fields::new(&file.path, split.fields), split.body))
    }

    pub(crate) fn text(&self, file: &SourceFile, format: Format) -> Result<String, ImportError> {
        file.text().ok_or_else(|| unreadable(file, format, "it is not UTF-8"))
    }

    /// Reads a file that is one mapping.
    pub(crate) fn mapping(
        &self,
        file: &SourceFile,
        format: Format,
        extension: &str,
    ) -> Result<Fields, ImportError> {
        let text = self.text(file, format)?;
        match rye_parse::config(&text, extension) {
            Ok(Value::Object(values)) => Ok(Fields::new(&file.path, values)),
            Ok(_) => Err(unreadable(file, format, "it is no mapping")),
            Err(error) => Err(unreadable(file, format, &problems(&error))),
        }
    }

    /// Gives each draft an id of its own, says what became of the files that no reader took, and reads each draft.
    fn finish(mut self, source: &Source) -> Result<Import, ImportError> {
        for file in source.files() {
            if !self.taken.contains(&file.path) {
                self.leave(&file.path, "", UNKNOWN);
            }
        }
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        for draft in &self.import.drafts {
            if let Some(other) = paths.insert(draft.path.to_ascii_lowercase(), draft.from.clone()) {
                let reason =
                    format!("`{other}` becomes the same item; import them one by one, with `--to`");
                return Err(unfit(draft, reason));
            }
        }
        for draft in &self.import.drafts {
            read_back(draft)?;
        }
        let import = &mut self.import;
        import.left_out.dedup();
        import.decisions.dedup();
        Ok(self.import)
    }
}

impl Account for Importer {
    fn leave(&mut self, file: &str, field: &str, reason: &str) {
        self.import.left_out.push(LeftOut::new(file, field, reason));
    }
}

/// Refuses a draft that Rye would not read, so that nothing is half imported.
fn read_back(draft: &ImportedDraft) -> Result<(), ImportError> {
    let extension = draft.path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let read = match draft.kind {
        ItemKind::Directive => rye_parse::directive(&draft.text).map(drop),
        ItemKind::Knowledge => rye_parse::knowledge(&draft.text).map(drop),
        // A tool may lack what only a person can decide, which the report names.
        ItemKind::Tool if matches!(extension, "yaml" | "yml") => {
            rye_parse::config(&draft.text, extension).map(drop)
        }
        ItemKind::Tool => rye_parse::tool(&draft.text, extension).map(drop),
        ItemKind::Config => rye_parse::config(&draft.text, extension).map(drop),
    };
    read.map_err(|error| unfit(draft, problems(&error)))
}

/// The problems of a file, each with its line.
pub(crate) fn problems(error: &rye_parse::ParseError) -> String {
    let problems = error.problems().iter().map(|problem| problem.kind.to_string());
    problems.collect::<Vec<_>>().join("; ")
}

fn unfit(draft: &ImportedDraft, reason: String) -> ImportError {
    ImportError::Unfit { path: draft.from.clone(), draft: draft.path.clone(), reason }
}

pub(crate) fn unreadable(file: &SourceFile, format: Format, reason: &str) -> ImportError {
    ImportError::Unreadable {
        path: file.path.clone(),
        phrase: format.phrase().to_owned(),
        reason: reason.to_owned(),
    }
}

/// The path of a file in a folder.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
