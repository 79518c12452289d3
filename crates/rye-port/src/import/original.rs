//! Items of the original system: tools in Python or JavaScript with module variables, tools in YAML, and directives and knowledge with front
//! matter, after its public documentation.

use rye_resolve::ItemId;
use rye_types::ItemKind;
use serde_json::{Map, Value, json};

use super::{ImportError, Importer, recipe, rules, skill};
use crate::document::manifest::yaml;
use crate::document::one_line;
use crate::draft::ImportedDraft;
use crate::fields::{Fields, scalar};
use crate::format::Format;
use crate::literal;
use crate::names;
use crate::report::Account as _;
use crate::report::Asked;
use crate::source::SourceFile;

const FORMAT: Format = Format::Original;

pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let extension = file.path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "py" | "js" | "ts" => script(importer, file, extension),
        "yaml" | "yml" => manifest(importer, file),
        _ if file.path.contains("knowledge/") => rules::knowledge(importer, file, FORMAT),
        _ => directive(importer, file),
    }
}

/// The id of an item below its kind's folder of an `.ai` folder, or of its category and name.
fn id_of(importer: &mut Importer, file: &SourceFile, category: Option<&str>) -> ItemId {
    let folders = ["tools/", "directives/", "knowledge/"];
    let below =
        folders.iter().find_map(|folder| file.path.rsplit_once(folder).map(|(_, below)| below));
    let stem = names::stem(&file.path, &[]);
    let folder = match below.and_then(|below| below.rsplit_once('/')) {
        Some((folder, _)) => folder.to_owned(),
        None => category.unwrap_or_default().to_owned(),
    };
    let folder: Vec<String> =
        folder.split('/').filter(|part| !part.is_empty()).map(names::segment).collect();
    let folder = if folder.is_empty() { "tools".to_owned() } else { folder.join("/") };
    importer.id(&folder, stem)
}

/// A script whose module variables describe it. It reads its parameters from standard input, and the folder of the project from its
/// command line.
fn script(importer: &mut Importer, file: &SourceFile, extension: &str) -> Result<(), ImportError> {
    let text = importer.text(file, FORMAT)?;
    let variable = |name: &str| variable(&text, name);
    let kind = variable("__tool_type__").and_then(|it| scalar(&it)).unwrap_or_default();
    if matches!(kind.as_str(), "runtime" | "primitive" | "parser" | "extractor" | "sink") {
        let reason =
            format!("it is a `{kind}` of the original, and Rye has its own in the program");
        importer.leave(&file.path, "", &reason);
        return Ok(());
    }
    let category = variable("__category__").and_then(|it| scalar(&it));
    let id = id_of(importer, file, category.as_deref());
    let path = format!("{}/{id}.{extension}", ItemKind::Tool.folder());
    let description = variable("__tool_description__")
        .or_else(|| variable("__description__"))
        .and_then(|it| scalar(&it));
    let schema = variable("CONFIG_SCHEMA").filter(Value::is_object);
    let mut header = Map::new();
    match description {
        Some(description) => {
            header.insert("description".to_owned(), one_line(&description).into());
            importer.carry(&file.path, "__tool_description__", "the description");
        }
        None => {
            header.insert("description".to_owned(), names::title(id.name()).into());
            importer.decide(&path, "say in `description` what the tool does: the source does not");
        }
    }
    if let Some(version) = variable("__version__").and_then(|it| scalar(&it)) {
        header.insert("version".to_owned(), version.into());
        importer.carry(&file.path, "__version__", "the version");
    }
    header.insert("args".to_owned(), json!(["--project-path", "."]));
    match schema {
        Some(schema) => {
            header.insert("input_schema".to_owned(), schema);
            importer.carry(&file.path, "CONFIG_SCHEMA", "the schema of the arguments");
        }
        None => {
            header.insert("input_schema".to_owned(), json!({ "type": "object" }));
            importer.leave(
                &file.path,
                "CONFIG_SCHEMA",
                "it is missing, or no literal; the draft takes any arguments",
            );
            importer.decide(&path, "write the schema of its arguments into `input_schema`");
        }
    }
    if category.is_some() {
        importer.carry(&file.path, "__category__", &format!("the folder of tool `{id}`"));
    }
    for (name, reason) in [
        ("__executor_id__", "the `#!` line says what runs a script"),
        ("__tool_type__", "the `#!` line says what runs a script"),
        (
            "ENV_CONFIG",
            "a script gets the interpreter of `runtimes` of `config/agent/processes.yaml`",
        ),
        ("CONFIG", "a script has no configuration of its own; write its values into the text"),
        ("__allowed_primary__", "permissions are declared by directives"),
    ] {
        if variable_place(&text, name).is_some() {
            importer.leave(&file.path, name, reason);
        }
    }
    let (mark, interpreter) = match extension {
        "py" => ("#", "#!/usr/bin/env python3"),
        _ => ("//", "#!/usr/bin/env node"),
    };
    let unsigned = rye_sign::without_signature_line(&text);
    let first_line = unsigned.split_once('\n').map_or(unsigned.as_str(), |(line, _)| line);
    // An old form of the signature, which is a comment of the first line.
    let is_old = [" rye:validated:", " kiwi-mcp:"].iter().any(|mark| first_line.contains(mark));
    if unsigned != text || is_old {
        importer.leave(
            &file.path,
            "rye:signed",
            "a signature is for the bytes that it was made for; sign the draft",
        );
    }
    let body = if is_old || first_line.starts_with("#!") {
        unsigned.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        unsigned.as_str()
    };
    let lines: String =
        yaml(&Value::Object(header), 0).lines().map(|line| format!("{mark} {line}\n")).collect();
    let mut draft = format!("{interpreter}\n{mark} /// rye\n{lines}{mark} ///\n{body}");
    if extension == "py" && !body.contains("__main__") {
        draft = with_main(&draft, body);
        importer.carry(
            &file.path,
            "execute()",
            "a call of it at the end, with the arguments from standard input",
        );
    }
    if ["from rye", "import rye", "from lilux", "import lilux"]
        .iter()
        .any(|import| body.contains(import))
    {
        importer
            .decide(&path, "the script imports modules of the original, which Rye does not have");
    }
    if body.lines().any(|line| line.trim_start().starts_with("from .")) {
        importer.decide(&path, "the script imports files beside it, which a script of a tool does not find; put them into one");
    }
    importer.carry(&file.path, "", &format!("tool `{id}`"));
    importer.keep(ImportedDraft::new(ItemKind::Tool, id, extension, draft, &file.path));
    Ok(())
}

/// Adds the call that the original's runtime made.
fn with_main(draft: &str, body: &str) -> String {
    let call = if body.contains("async def execute") {
        "asyncio.run(execute(json.load(sys.stdin), \".\"))"
    } else {
        "execute(json.load(sys.stdin), \".\")"
    };
    let imports = if call.starts_with("asyncio") { "asyncio\n    import json" } else { "json" };
    let end = if draft.ends_with('\n') { "" } else { "\n" };
    format!(
        "{draft}{end}\n\nif __name__ == \"__main__\":\n    import {imports}\n    import sys\n\n    print(json.dumps({call}))\n"
    )
}

/// The value of a variable of the module; `None` if it has none, or one that is no literal.
fn variable(text: &str, name: &str) -> Option<Value> {
    literal::value(text.get(variable_place(text, name)?..)?)
}

/// The place of the value of a variable of the module.
fn variable_place(text: &str, name: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let declared = line
            .strip_prefix("export const ")
            .or_else(|| line.strip_prefix("const "))
            .unwrap_or(line);
        if let Some(rest) = declared.strip_prefix(name) {
            let value = match rest.trim_start().strip_prefix(':') {
                Some(annotated) => annotated.split_once('=').map(|(_, value)| value),
                None => rest.trim_start().strip_prefix('='),
            };
            if let Some(value) = value {
                return Some(at + line.len() - value.len());
            }
        }
        at += line.len();
    }
    None
}

/// A tool in YAML: a wrapper of a server's tool, a server, or a program.
fn manifest(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let mut fields = importer.mapping(file, FORMAT, "yaml")?;
    let kind = fields.text("tool_type").unwrap_or_default();
    let category = fields.text("category");
    let id = id_of(importer, file, category.as_deref());
    if category.is_some() {
        importer.carry(&file.path, "category", &format!("the folder of tool `{id}`"));
    }
    fields.leave(importer, "executor_id", "the executor of the draft says how it runs");
    fields.leave(importer, "tool_id", "the path of the file is the id");
    let mut config = fields.mapping("config").unwrap_or_default();
    let text = |config: &mut Fields, name: &str| config.text(name);
    if kind == "mcp_server" {
        let mut server = Map::new();
        for (from, to) in [
            ("url", "url"),
            ("command", "command"),
            ("args", "args"),
            ("env", "env"),
            ("headers", "headers"),
            ("transport", "type"),
            ("timeout", "timeout_seconds"),
        ] {
            if let Some(value) = config.take(from) {
                server.insert(to.to_owned(), value);
            }
        }
        super::servers::all(
            importer,
            &file.path,
            "config",
            Map::from_iter([(id.name().to_owned(), Value::Object(server))]),
        );
        config.finish(importer);
        fields.leave(importer, "version", "a server has none");
        fields.leave(importer, "description", "a server has none");
        fields.finish(importer);
        return Ok(());
    }
    let mut draft = Map::new();
    let path = format!("{}/{id}.yaml", ItemKind::Tool.folder());
    draft.insert(
        "description".to_owned(),
        fields.text("description").unwrap_or_else(|| names::title(id.name())).into(),
    );
    if let Some(version) = fields.text("version") {
        draft.insert("version".to_owned(), version.into());
    }
    match text(&mut config, "server").zip(text(&mut config, "tool_name")) {
        Some((server, tool)) => {
            let server = server.rsplit('/').next().unwrap_or(&server).to_owned();
            draft.insert("executor".to_owned(), "mcp".into());
            draft.insert("server".to_owned(), server.into());
            draft.insert("tool".to_owned(), tool.into());
            importer.carry(&file.path, "config", "`server` and `tool` of the executor `mcp`");
        }
        None => importer.decide(
            &path,
            "say how the tool runs: `executor` with its keys; the original's runtime is not here",
        ),
    }
    let schema = fields.take("input_schema").or_else(|| parameters(&fields.take("parameters")?));
    draft.insert("input_schema".to_owned(), schema.unwrap_or_else(|| json!({ "type": "object" })));
    importer.carry(&file.path, "description, version, schema", &format!("tool `{id}`"));
    config.finish(importer);
    fields.finish(importer);
    importer.keep(ImportedDraft::new(
        ItemKind::Tool,
        id,
        "yaml",
        yaml(&Value::Object(draft), 0),
        &file.path,
    ));
    Ok(())
}

/// The schema of a list of parameters.
fn parameters(value: &Value) -> Option<Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in value.as_array()? {
        let mut parameter = parameter.as_object()?.clone();
        let name = scalar(&parameter.shift_remove("name")?)?;
        if parameter.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(Value::from(name.clone()));
        }
        properties.insert(name, Value::Object(parameter));
    }
    Some(json!({ "type": "object", "properties": properties, "required": required }))
}

/// A directive with front matter in place of the fence.
fn directive(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let (mut fields, body) = importer.front_matter(file, FORMAT)?;
    let category = fields.text("category");
    let id = match id_of(importer, file, category.as_deref()) {
        id if id.folder() == Some("tools") => importer.id("prompts", names::stem(&file.path, &[])),
        id => id,
    };
    let name =
        fields.text("name").or_else(|| fields.text("id")).unwrap_or_else(|| id.name().to_owned());
    importer.carry(&file.path, "name", &format!("the id of directive `{id}`"));
    if category.is_some() {
        importer.carry(&file.path, "category", &format!("the folder of directive `{id}`"));
    }
    let title = fields
        .text("title")
        .or_else(|| skill::heading(&body))
        .unwrap_or_else(|| names::title(&name));
    let mut document = importer.directive(id, &title);
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    if let Some(extends) = fields.text("extends") {
        document.extends = Some(extends);
        importer.carry(&file.path, "extends", "`extends`");
    }
    if let Some(mut model) = fields.mapping("model") {
        if let Some(tier) = model.text("tier") {
            document.tier = tier;
            importer.carry(&file.path, "model.tier", "the tier");
        }
        model.finish(importer);
    }
    if let Some(mut limits) = fields.mapping("limits") {
        for (field, limit) in [
            ("turns", "turns"),
            ("max_turns", "turns"),
            ("tokens", "tokens"),
            ("max_tokens", "tokens"),
            ("spend", "spend"),
            ("max_spend", "spend"),
            ("duration", "duration_seconds"),
            ("duration_seconds", "duration_seconds"),
            ("spawns", "spawns"),
            ("depth", "depth"),
        ] {
            if let Some(value) = limits.text(field) {
                importer.limit(
                    &mut document,
                    &file.path,
                    &format!("limits.{field}"),
                    limit,
                    &value,
                );
            }
        }
        limits.finish(importer);
    }
    for (field, is_input) in [("inputs", true), ("outputs", false)] {
        let Some(value) = fields.take(field) else { continue };
        let schema = ports(&value);
        match is_input {
            true => recipe::inputs(importer, &file.path, field, &schema, &mut document),
            false => recipe::outputs(importer, &file.path, field, &schema, &mut document),
        }
    }
    if let Some(permissions) = fields.take("permissions") {
        for (keys, pattern) in patterns(&permissions, &[]) {
            let entries = match keys.as_slice() {
                [primary, kind] if is_pattern(&pattern) => {
                    vec![format!("<{primary}><{kind}>{pattern}</{kind}></{primary}>")]
                }
                _ => Vec::new(),
            };
            let asked = Asked {
                file: file.path.clone(),
                asked: [keys.join(" "), pattern].join(" ").trim().to_owned(),
                entries,
                note: String::new(),
            };
            document.asked.push(asked.clone());
            importer.import.asked.push(asked);
        }
    }
    // Its placeholders are Rye's.
    document.has_own_places = true;
    importer.body_as_it_is(&mut document, &file.path, &body);
    skill::common(importer, &mut fields, &mut document);
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

/// The patterns of permissions, each with the keys above it, such as `execute` and `tool`.
fn patterns(value: &Value, keys: &[String]) -> Vec<(Vec<String>, String)> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| patterns(value, &[keys, std::slice::from_ref(name)].concat()))
            .collect(),
        Value::Array(values) => values.iter().flat_map(|value| patterns(value, keys)).collect(),
        _ => scalar(value).map(|text| (keys.to_vec(), text)).into_iter().collect(),
    }
}

/// Returns `true` for a text that an element of `<permissions>` may have (SPEC 9.1).
fn is_pattern(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/*?[]!".contains(c))
}

/// The schema of inputs or outputs, written as a list of named ones or as a mapping of names.
fn ports(value: &Value) -> Value {
    let named: Vec<(String, Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, it)| (name.clone(), it.clone())).collect()
        }
        Value::Array(list) => list
            .iter()
            .filter_map(|it| Some((it.get("name")?.as_str()?.to_owned(), it.clone())))
            .collect(),
        _ => Vec::new(),
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, port) in named {
        let mut port = match port {
            Value::Object(members) => members,
            other => Map::from_iter([(
                "description".to_owned(),
                Value::from(scalar(&other).unwrap_or_default()),
            )]),
        };
        port.shift_remove("name");
        if port.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(Value::from(name.clone()));
        }
        properties.insert(name, Value::Object(port));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}
