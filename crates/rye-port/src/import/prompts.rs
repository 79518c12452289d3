//! Prompt files: Dotprompt, Prompty, and those of VS Code, after their public documentation.

use serde_json::{Map, Value, json};

use super::{ImportError, Importer, recipe, skill};
use crate::document::directive::{ContextPart, ContextText, DirectiveDocument, InputPart};
use crate::fields::{Fields, scalar};
use crate::format::Format;
use crate::names;
use crate::placing::{Placed, Style, place, window};
use crate::report::Account as _;
use crate::source::SourceFile;

/// Imports a prompt file, custom agent or chat mode of VS Code.
pub(super) fn editor(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::EditorPrompt;
    let (mut fields, body) = importer.front_matter(file, format)?;
    let ends = [".prompt.md", ".agent.md", ".chatmode.md", ".md"];
    let stem = names::stem(&file.path, &ends);
    let name = fields.text("name").inspect(|_| importer.carry(&file.path, "name", "the title"));
    let title = names::title(name.as_deref().unwrap_or(stem));
    let id = importer.id("prompts", stem);
    let mut document = importer.directive(id, &title);
    describe(importer, &mut fields, &mut document);
    importer.body(&mut document, &file.path, place(&body, Style::EditorInput, None));
    skill::describe_arguments(importer, &mut fields, &mut document);
    if !file.path.ends_with(".prompt.md") {
        skill::add_task(importer, &mut document, &file.path);
    }
    if let Some(Value::Array(models)) = fields.peek("model").cloned() {
        fields.take("model");
        match models.first().and_then(scalar) {
            Some(model) => importer.model(&mut document, &file.path, "model", &model),
            None => importer.leave(&file.path, "model", "it names no model"),
        }
    }
    skill::common(importer, &mut fields, &mut document);
    for field in [
        "mode",
        "agent",
        "target",
        "handoffs",
        "agents",
        "user-invokable",
        "disable-model-invocation",
        "infer",
    ] {
        fields.leave(importer, field, "it steers the editor");
    }
    fields.leave(importer, "mcp-servers", "import the servers from the editor's configuration");
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

/// Imports a prompt of Dotprompt.
pub(super) fn dotprompt(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::Dotprompt;
    let (mut fields, body) = importer.front_matter(file, format)?;
    let stem = names::stem(&file.path, &[".prompt"]);
    let id = importer.id("prompts", stem);
    let mut document = importer.directive(id, &names::title(stem));
    if let Some(name) = fields.text("name") {
        document.title = names::title(&name);
        importer.carry(&file.path, "name", "the title");
    }
    describe(importer, &mut fields, &mut document);
    if let Some(mut input) = fields.mapping("input") {
        let defaults = input.take("default");
        if let Some(schema) = input.take("schema") {
            let schema = json_schema(&schema);
            recipe::inputs(importer, &file.path, "input.schema", &schema, &mut document);
        }
        match defaults {
            Some(Value::Object(defaults)) => {
                set_defaults(importer, &file.path, "input.default", &defaults, &mut document);
            }
            Some(_) => importer.leave(&file.path, "input.default", "it is no mapping"),
            None => {}
        }
        input.finish(importer);
    }
    if let Some(mut output) = fields.mapping("output") {
        output.leave(importer, "format", "outputs are returned by a call, as values");
        if let Some(schema) = output.take("schema") {
            recipe::outputs(
                importer,
                &file.path,
                "output.schema",
                &json_schema(&schema),
                &mut document,
            );
        }
        output.finish(importer);
    }
    let roles = roles(&body, helper);
    place_roles(importer, file, &mut document, &roles, Style::Mustache);
    skill::common(importer, &mut fields, &mut document);
    if let Some(config) = fields.mapping("config") {
        config.finish(importer);
    }
    fields.leave(importer, "variant", "the name of the file tells it");
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

/// Imports a prompt of Prompty.
pub(super) fn prompty(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let format = Format::Prompty;
    let (mut fields, body) = importer.front_matter(file, format)?;
    let stem = names::stem(&file.path, &[".prompty"]);
    let name = fields.text("name").inspect(|_| importer.carry(&file.path, "name", "the title"));
    let title = name.unwrap_or_else(|| names::title(stem));
    let id = importer.id("prompts", stem);
    let mut document = importer.directive(id, &title);
    describe(importer, &mut fields, &mut document);
    let authors = skill::texts(&mut fields, "authors");
    if !authors.is_empty() {
        document.author = authors.join(", ");
        importer.carry(&file.path, "authors", "the author");
    }
    for field in ["inputs", "inputSchema"] {
        if let Some(inputs) = fields.take(field) {
            let schema = property_schema(&inputs);
            recipe::inputs(importer, &file.path, field, &schema, &mut document);
        }
    }
    for field in ["outputs", "outputSchema"] {
        if let Some(outputs) = fields.take(field) {
            recipe::outputs(importer, &file.path, field, &property_schema(&outputs), &mut document);
        }
    }
    let sample = fields.peek("sample").cloned();
    if let Some(Value::Object(sample)) = sample {
        fields.take("sample");
        for (name, value) in &sample {
            let input = names::input(name);
            let field = format!("sample.{name}");
            if document.inputs.iter().all(|known| known.name != input) {
                importer.carry(&file.path, &field, &format!("the name of the input `{input}`"));
                document.inputs.push(InputPart {
                    description: names::title(name),
                    is_required: true,
                    kind: kind_of(value).to_owned(),
                    name: input,
                    ..InputPart::default()
                });
            }
            importer.leave(&file.path, &field, "a sample is no default; give it with `--input`");
        }
    }
    if let Some(mut model) = fields.mapping("model") {
        if let Some(mut configuration) = model.mapping("configuration") {
            let name = ["azure_deployment", "model", "name"]
                .into_iter()
                .find_map(|it| configuration.text(it));
            if let Some(name) = name {
                importer.model(&mut document, &file.path, "model.configuration", &name);
            }
            configuration.finish(importer);
        }
        if let Some(id) = model.text("id") {
            importer.model(&mut document, &file.path, "model.id", &id);
        }
        for field in ["api", "provider", "apiType", "connection"] {
            model.leave(importer, field, "the operator chooses the provider");
        }
        for field in ["parameters", "options", "response"] {
            model.leave(importer, field, "a directive sets no parameters of a request");
        }
        model.finish(importer);
    }
    let roles = roles(&body, heading);
    place_roles(importer, file, &mut document, &roles, Style::Mustache);
    skill::common(importer, &mut fields, &mut document);
    for field in ["template", "tags", "base", "kind"] {
        fields.leave(importer, field, "it steers the other program");
    }
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

fn describe(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(fields.file(), "description", "the description");
    }
}

/// The messages of a prompt, each with its role. Text before the first role is the user's. `mark` finds the next mark of a role: the bytes
/// before it, the role, and the text behind it.
fn roles<'t>(
    body: &'t str,
    mark: impl Fn(&'t str) -> Option<(usize, String, &'t str)>,
) -> Vec<(String, String)> {
    let mut roles = Vec::new();
    let mut role = "user".to_owned();
    let mut rest = body;
    while let Some((length, next, behind)) = mark(rest) {
        let text = rest.get(..length).unwrap_or_default().to_owned();
        roles.push((std::mem::replace(&mut role, next), text));
        rest = behind;
    }
    roles.push((role, rest.to_owned()));
    roles.retain(|(_, text)| !text.trim().is_empty());
    roles
}

/// The next `{{role "system"}}` of Dotprompt.
fn helper(text: &str) -> Option<(usize, String, &str)> {
    text.match_indices("{{").find_map(|(at, open)| {
        let inside = text.get(at + open.len()..)?;
        let length = window(inside).find("}}")?;
        let behind = inside.get(length + "}}".len()..)?;
        let role = inside.get(..length)?.trim().strip_prefix("role")?;
        let role = role.starts_with([' ', '\t']).then(|| role.trim().trim_matches(['"', '\'']))?;
        Some((at, role.to_owned(), behind))
    })
}

/// The next line of Prompty that is a role and a colon.
fn heading(text: &str) -> Option<(usize, String, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let role = line.trim().trim_start_matches('#').trim().strip_suffix(':');
        let role =
            role.filter(|role| ["system", "user", "assistant", "developer", "tool"].contains(role));
        if let Some(role) = role {
            return Some((at, role.to_owned(), text.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// Puts the system's messages into the context and the user's into the body. A system message with places is in the body, because only a
/// body has places for inputs.
fn place_roles(
    importer: &mut Importer,
    file: &SourceFile,
    document: &mut DirectiveDocument,
    roles: &[(String, String)],
    style: Style,
) {
    let mut body: Vec<&str> = Vec::new();
    for (role, text) in roles {
        let text = text.trim();
        match role.as_str() {
            "system" | "developer" => {
                let Placed { inputs, unmeant, .. } = place(text, style, None);
                if inputs.is_empty() && unmeant.is_empty() {
                    document.context.push(ContextPart {
                        position: "system",
                        content: ContextText::Text(text.to_owned()),
                    });
                    importer.carry(
                        &file.path,
                        &format!("the message of `{role}`"),
                        "`<system>` of the context",
                    );
                } else {
                    body.push(text);
                    importer.carry(
                        &file.path,
                        &format!("the message of `{role}`"),
                        "the body, because only a body has places",
                    );
                }
            }
            "user" => body.push(text),
            _ => importer.leave(
                &file.path,
                &format!("the message of `{role}`"),
                "a thread begins with one message of the user",
            ),
        }
    }
    let body = body.join("\n\n");
    importer.body(document, &file.path, place(&body, style, None));
}

fn set_defaults(
    importer: &mut Importer,
    file: &str,
    field: &str,
    defaults: &Map<String, Value>,
    document: &mut DirectiveDocument,
) {
    for (name, value) in defaults {
        let field = format!("{field}.{name}");
        let input = names::input(name);
        match document.inputs.iter_mut().find(|known| known.name == input) {
            Some(input) => {
                input.default = Some(scalar(value).unwrap_or_else(|| value.to_string()));
                input.is_required = false;
                importer.carry(file, &field, &format!("the default of the input `{}`", input.name));
            }
            None => importer.leave(file, &field, "no input of the schema has this name"),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        _ => "string",
    }
}

/// The properties of Prompty: a mapping of names to properties, a list of named properties, or a schema.
fn property_schema(value: &Value) -> Value {
    let named: Vec<(String, Value)> = match value {
        Value::Object(members) if members.contains_key("properties") => {
            return match members.get("properties") {
                Some(list @ Value::Array(_)) => property_schema(list),
                _ => value.clone(),
            };
        }
        Value::Object(members) => {
            members.iter().map(|(name, it)| (name.clone(), it.clone())).collect()
        }
        Value::Array(list) => {
            let name = |it: &Value| it.get("name").and_then(Value::as_str).map(str::to_owned);
            list.iter().filter_map(|it| Some((name(it)?, it.clone()))).collect()
        }
        _ => return value.clone(),
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, value) in named {
        let mut property = match value {
            Value::Object(members) => members,
            other => Map::from_iter([("default".to_owned(), other)]),
        };
        property.shift_remove("name");
        let kind = property.shift_remove("kind");
        if let (Some(kind), false) = (kind, property.contains_key("type")) {
            property.insert("type".to_owned(), kind);
        }
        let is_required = property.shift_remove("required").and_then(|it| it.as_bool());
        if is_required.unwrap_or(!property.contains_key("default")) {
            required.push(Value::from(name.clone()));
        }
        properties.insert(name, Value::Object(property));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The JSON Schema of a schema in Picoschema, the short form of Dotprompt; a JSON Schema as it is.
fn json_schema(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    if members.contains_key("properties") {
        return value.clone();
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, value) in members {
        let (name, kind) = match key.split_once('(') {
            Some((name, kind)) => (name, Some(kind.trim_end_matches(')'))),
            None => (key.as_str(), None),
        };
        let is_optional = name.ends_with('?');
        let name = name.trim_end_matches('?');
        if !is_optional {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), pico_property(kind, value));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn pico_property(kind: Option<&str>, value: &Value) -> Value {
    let (kind, description) = match (kind, value) {
        (Some(kind), _) => kind.split_once(',').unwrap_or((kind, "")),
        (None, Value::String(text)) => text.split_once(',').unwrap_or((text, "")),
        (None, _) => ("object", ""),
    };
    let mut property = Map::new();
    let kind = kind.trim();
    if kind == "enum" {
        property.insert("type".to_owned(), "string".into());
        property.insert("enum".to_owned(), value.clone());
    } else {
        property.insert("type".to_owned(), kind.into());
    }
    if !description.trim().is_empty() {
        property.insert("description".to_owned(), description.trim().into());
    }
    if matches!(kind, "array" | "object") {
        property.insert("items".to_owned(), value.clone());
    }
    Value::Object(property)
}
