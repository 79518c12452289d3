//! Recipes of goose, after its public documentation.

use serde_json::Value;

use super::{ImportError, Importer, servers, skill};
use crate::document::directive::{DirectiveDocument, InputPart, OutputPart};
use crate::fields::{Fields, scalar};
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::report::Account as _;
use crate::report::Asked;
use crate::source::SourceFile;

const FORMAT: Format = Format::GooseRecipe;

/// Imports a recipe: its instructions and its prompt become the body of a directive.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let extension = if file.path.ends_with(".json") { "json" } else { "yaml" };
    let mut fields = importer.mapping(file, FORMAT, extension)?;
    let stem = names::stem(&file.path, &[".yaml", ".yml", ".json"]);
    let title = fields.text("title");
    let id = importer.id("recipes", stem);
    let mut document = importer.directive(id, title.as_deref().unwrap_or(stem));
    if title.is_some() {
        importer.carry(&file.path, "title", "the title");
    }
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    if let Some(version) = fields.text("version") {
        skill::set_version(importer, &mut document, &file.path, "version", &version);
    }
    author(importer, &mut fields, &mut document);
    parameters(importer, &mut fields, &mut document);
    let parts: Vec<String> =
        ["instructions", "prompt"].into_iter().filter_map(|name| fields.text(name)).collect();
    let body = parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join("\n\n");
    importer.body(&mut document, &file.path, place(&body, Style::Mustache, None));
    extensions(importer, &mut fields, &mut document)?;
    settings(importer, &mut fields, &mut document);
    if let Some(mut response) = fields.mapping("response") {
        if let Some(schema) = response.take("json_schema") {
            outputs(importer, &file.path, "response.json_schema", &schema, &mut document);
        }
        response.finish(importer);
    }
    fields.leave(importer, "activities", "they are buttons of the other program");
    fields.leave(
        importer,
        "sub_recipes",
        "import each recipe, and let a step start it as a thread with `thread_directive`",
    );
    fields.leave(importer, "retry", "a directive has no retries with checks; let a step check, or write a hook of `directive_return`");
    fields.leave(importer, "context", "write it into `<context>`");
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

fn author(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    if let Some(mut author) = fields.mapping("author") {
        if let Some(contact) = author.text("contact") {
            document.author = contact;
            importer.carry(&file, "author.contact", "the author");
        }
        author.finish(importer);
    } else if let Some(author) = fields.text("author") {
        document.author = author;
        importer.carry(&file, "author", "the author");
    }
}

fn parameters(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    let Some(parameters) = fields.list("parameters") else { return };
    for (place, parameter) in parameters.into_iter().enumerate() {
        let Value::Object(parameter) = parameter else {
            importer.leave(&file, &format!("parameters.{place}"), "it is no mapping");
            continue;
        };
        let prefix = format!("parameters.{place}");
        let mut parameter = Fields::inside(&file, &prefix, parameter);
        let Some(key) = parameter.text("key") else {
            importer.leave(&file, &prefix, "it has no `key`");
            continue;
        };
        let requirement = parameter.text("requirement").unwrap_or_else(|| "required".to_owned());
        let kind = parameter.text("input_type").unwrap_or_default();
        let input = InputPart {
            name: names::input(&key),
            kind: kind.clone(),
            is_required: requirement == "required" && !parameter.has("default"),
            default: parameter.text("default"),
            values: skill::texts(&mut parameter, "options"),
            description: parameter.text("description").unwrap_or_default(),
        };
        importer.carry(&file, &prefix, &format!("the input `{}`", input.name));
        if requirement == "user_prompt" {
            importer.leave(
                &file,
                &format!("{prefix}.requirement"),
                "nobody is asked while a thread runs; the input is optional",
            );
        }
        if matches!(kind.as_str(), "file" | "date") {
            let reason = format!("an input has no type `{kind}`; it is a text");
            importer.leave(&file, &format!("{prefix}.input_type"), &reason);
        }
        parameter.finish(importer);
        document.inputs.push(input);
    }
}

fn extensions(
    importer: &mut Importer,
    fields: &mut Fields,
    document: &mut DirectiveDocument,
) -> Result<(), ImportError> {
    let file = fields.file().to_owned();
    let Some(extensions) = fields.list("extensions") else { return Ok(()) };
    for (place, extension) in extensions.into_iter().enumerate() {
        let prefix = format!("extensions.{place}");
        let Value::Object(values) = extension else {
            importer.leave(&file, &prefix, "it is no mapping");
            continue;
        };
        let mut extension = Fields::inside(&file, &prefix, values);
        let name = extension.text("name").unwrap_or_default();
        let kind = extension.text("type").unwrap_or_default();
        match kind.as_str() {
            "stdio" | "sse" | "streamable_http" => {
                servers::extension(importer, &mut extension, &name);
                let asked = Asked {
                    file: file.clone(),
                    asked: format!("the tools of server {name}"),
                    entries: vec![format!(
                        "<execute><tool>mcp.{}.*</tool></execute>",
                        names::segment(&name)
                    )],
                    note: "`rye mcp discover NAME --write` writes their wrappers".to_owned(),
                };
                document.asked.push(asked.clone());
                importer.import.asked.push(asked);
            }
            _ => {
                let tools = match extension.words("available_tools") {
                    Some(tools) if !tools.is_empty() => tools,
                    _ => vec![name.clone()],
                };
                importer.ask(document, &file, &tools);
                for field in ["display_name", "description", "timeout", "bundled"] {
                    extension.leave(importer, field, "it describes a part of the other program");
                }
            }
        }
        extension.finish(importer);
    }
    Ok(())
}

fn settings(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    let Some(mut settings) = fields.mapping("settings") else { return };
    if let Some(model) = settings.text("goose_model") {
        importer.model(document, &file, "settings.goose_model", &model);
    }
    if let Some(turns) = settings.text("max_turns") {
        importer.limit(document, &file, "settings.max_turns", "turns", &turns);
    }
    settings.leave(importer, "goose_provider", "the operator chooses the provider");
    settings.leave(importer, "temperature", "a directive sets no temperature");
    settings.finish(importer);
}

/// Declares the properties of a JSON Schema as outputs.
pub(super) fn outputs(
    importer: &mut Importer,
    file: &str,
    field: &str,
    schema: &Value,
    document: &mut DirectiveDocument,
) {
    let Some(properties) = properties(schema) else {
        importer.leave(file, field, "it is no schema of an object, so that it names no outputs");
        return;
    };
    for property in properties {
        let output = OutputPart {
            name: property.declared_name(),
            is_required: property.is_required,
            description: property.text("description"),
            kind: property.text("type"),
        };
        let field = property.field(field);
        importer.carry(file, &field, &format!("the output `{}`", output.name));
        if let Some(lost) = property.members_besides(&["type", "description"]) {
            let reason = format!("an output has a type and a description; not carried: {lost}");
            importer.leave(file, &field, &reason);
        }
        document.outputs.push(output);
    }
}

/// Declares the properties of a JSON Schema as inputs.
pub(super) fn inputs(
    importer: &mut Importer,
    file: &str,
    field: &str,
    schema: &Value,
    document: &mut DirectiveDocument,
) {
    let Some(properties) = properties(schema) else {
        importer.leave(file, field, "it is no schema of an object, so that it names no inputs");
        return;
    };
    for property in properties {
        let values = property.schema.get("enum").and_then(Value::as_array);
        let default = property.schema.get("default");
        let input = InputPart {
            name: property.declared_name(),
            kind: property.text("type"),
            is_required: property.is_required,
            default: default.map(|it| scalar(it).unwrap_or_else(|| it.to_string())),
            values: values.into_iter().flatten().filter_map(scalar).collect(),
            description: property.text("description"),
        };
        let field = property.field(field);
        importer.carry(file, &field, &format!("the input `{}`", input.name));
        if let Some(lost) = property.members_besides(&["type", "description", "default", "enum"]) {
            let reason = format!("an input has a type, a default and an enum; not carried: {lost}");
            importer.leave(file, &field, &reason);
        }
        document.inputs.push(input);
    }
}

/// A property of the JSON Schema of an object.
struct Property<'a> {
    name: &'a str,
    is_required: bool,
    schema: &'a Value,
}

impl Property<'_> {
    fn declared_name(&self) -> String {
        names::input(self.name)
    }

    /// Returns the place of the property in a file whose schema is at `field`.
    fn field(&self, field: &str) -> String {
        format!("{field}.properties.{}", self.name)
    }

    /// Returns a member that is text, or nothing.
    fn text(&self, member: &str) -> String {
        self.schema.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Returns the names of the other members, if there are any.
    fn members_besides(&self, known: &[&str]) -> Option<String> {
        let members = self.schema.as_object().into_iter().flat_map(|members| members.keys());
        let others: Vec<&str> =
            members.map(String::as_str).filter(|member| !known.contains(member)).collect();
        (!others.is_empty()).then(|| others.join(", "))
    }
}

/// Returns the properties of the JSON Schema of an object; `None` for any other schema.
fn properties(schema: &Value) -> Option<impl Iterator<Item = Property<'_>>> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<String> = required.into_iter().flatten().filter_map(scalar).collect();
    Some(properties.iter().map(move |(name, schema)| Property {
        name,
        is_required: required.contains(name),
        schema,
    }))
}
