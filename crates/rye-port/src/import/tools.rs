//! Tool schemas of the APIs of OpenAI and Anthropic, and lists of tools of MCP servers.

use rye_types::ItemKind;
use serde_json::{Map, Value};

use super::{ImportError, Importer, unreadable};
use crate::document::manifest::yaml;
use crate::document::one_line;
use crate::draft::ImportedDraft;
use crate::fields::Fields;
use crate::format::{Format, json_value, tools_of};
use crate::report::Account as _;
use crate::source::SourceFile;

const FORMAT: Format = Format::ToolSchemas;

/// Imports each tool as a manifest. What runs it, no schema says.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let value = json_value(file).ok_or_else(|| unreadable(file, FORMAT, "it is no JSON"))?;
    let tools = tools_of(&value).ok_or_else(|| unreadable(file, FORMAT, "it lists no tools"))?;
    importer.is_single = importer.is_single && tools.len() == 1;
    for (place, tool) in tools.into_iter().enumerate() {
        let Value::Object(members) = tool else {
            importer.leave(&file.path, &format!("{place}"), "it is no mapping");
            continue;
        };
        let mut outer = Fields::inside(&file.path, &format!("{place}"), members);
        outer.take("type");
        match outer.mapping("function") {
            Some(mut function) => {
                one(importer, &mut function);
                function.finish(importer);
            }
            None => one(importer, &mut outer),
        }
        outer.finish(importer);
    }
    Ok(())
}

fn one(importer: &mut Importer, fields: &mut Fields) {
    let file = fields.file().to_owned();
    let name = fields.text("name").unwrap_or_default();
    let id = importer.id("functions", &name);
    let mut manifest = Map::new();
    let description = fields.text("description").unwrap_or_default();
    let path = format!("{}/{id}.yaml", ItemKind::Tool.folder());
    if description.trim().is_empty() {
        importer.decide(&path, "say in `description` what the tool does: the source does not");
    }
    let text = if description.trim().is_empty() { one_line(&name) } else { description };
    manifest.insert("description".to_owned(), text.into());
    manifest.insert("version".to_owned(), "0.1.0".into());
    let schema =
        ["parameters", "input_schema", "inputSchema"].into_iter().find_map(|it| fields.take(it));
    let schema =
        schema.filter(Value::is_object).unwrap_or_else(|| serde_json::json!({ "type": "object" }));
    manifest.insert("input_schema".to_owned(), schema);
    if let Some(schema) = fields.take("outputSchema").or_else(|| fields.take("output_schema")) {
        manifest.insert("output_schema".to_owned(), schema);
    }
    if let Some(title) = fields.text("title") {
        manifest.insert("title".to_owned(), title.into());
    }
    for field in [
        "strict",
        "cache_control",
        "annotations",
        "defer_loading",
        "input_examples",
        "allowed_callers",
        "_meta",
        "icons",
        "execution",
    ] {
        fields.leave(importer, field, "it is an option of a request, and no part of a tool");
    }
    importer.decide(&path, "say how the tool runs: `executor: command` with `command`, `executor: http` with `url`, or `executor: mcp` with `server` and `tool`");
    importer.carry(
        &file,
        &fields.name(&name),
        &format!("tool `{id}`: name, description and schema"),
    );
    let text = yaml(&Value::Object(manifest), 0);
    importer.keep(ImportedDraft::new(ItemKind::Tool, id, "yaml", text, &file));
}
