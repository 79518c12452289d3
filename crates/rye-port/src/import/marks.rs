//! The members of a skill's `metadata` that say which directive it was made of, so that an import gives the same prompt.

use rye_resolve::ItemId;
use serde_json::Value;

use super::Importer;
use crate::document::directive::{DirectiveDocument, InputPart, OutputPart};
use crate::fields::Fields;
use crate::report::Account as _;

/// The id of the directive.
pub(crate) const ID: &str = "rye-id";
/// Its name, as the prompt has it.
pub(crate) const NAME: &str = "rye-name";
/// Its version.
pub(crate) const VERSION: &str = "rye-version";
/// The directive that it extends.
pub(crate) const EXTENDS: &str = "rye-extends";
/// Its inputs and outputs, each as a JSON list.
pub(crate) const INPUTS: &str = "rye-inputs";
/// See [`INPUTS`].
pub(crate) const OUTPUTS: &str = "rye-outputs";

/// Takes the marks of a skill; `false` if it has none.
pub(crate) fn read(
    importer: &mut Importer,
    fields: &mut Fields,
    document: &mut DirectiveDocument,
) -> bool {
    let file = fields.file().to_owned();
    let Some(Value::Object(metadata)) = fields.peek("metadata").cloned() else { return false };
    let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = text(ID).and_then(|id| id.parse::<ItemId>().ok()) else { return false };
    if importer.options.to.is_none() && importer.folder.is_none() {
        document.id = id;
    }
    importer.carry(
        &file,
        &format!("metadata.{ID}"),
        &format!("the id of directive `{}`", document.id),
    );
    if let Some(name) = text(NAME) {
        importer.carry(&file, &format!("metadata.{NAME}"), "the name");
        document.name = Some(name);
    }
    if let Some(version) = text(VERSION) {
        importer.carry(&file, &format!("metadata.{VERSION}"), "the version");
        document.version = version;
    }
    if let Some(extends) = text(EXTENDS) {
        importer.carry(&file, &format!("metadata.{EXTENDS}"), "`extends`");
        document.extends = Some(extends);
    }
    for (name, what) in [(INPUTS, "the inputs"), (OUTPUTS, "the outputs")] {
        let Some(text) = text(name) else { continue };
        let field = format!("metadata.{name}");
        match serde_json::from_str::<Vec<Value>>(&text) {
            Ok(ports) if name == INPUTS => {
                document.inputs = ports.iter().map(input).collect();
                importer.carry(&file, &field, what);
            }
            Ok(ports) => {
                document.outputs = ports.iter().map(output).collect();
                importer.carry(&file, &field, what);
            }
            Err(error) => importer.leave(&file, &field, &format!("it is no list in JSON: {error}")),
        }
    }
    let known = [ID, NAME, VERSION, EXTENDS, INPUTS, OUTPUTS];
    fields.keep_members("metadata", |name| !known.contains(&name));
    true
}

fn member(port: &Value, name: &str) -> String {
    port.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_required(port: &Value) -> bool {
    port.get("required").and_then(Value::as_bool).unwrap_or_default()
}

fn input(port: &Value) -> InputPart {
    let values = port.get("enum").and_then(Value::as_array);
    InputPart {
        name: member(port, "name"),
        kind: member(port, "type"),
        is_required: is_required(port),
        default: port.get("default").and_then(Value::as_str).map(str::to_owned),
        values: values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        description: member(port, "description"),
    }
}

fn output(port: &Value) -> OutputPart {
    OutputPart {
        name: member(port, "name"),
        kind: member(port, "type"),
        is_required: is_required(port),
        description: member(port, "description"),
    }
}
