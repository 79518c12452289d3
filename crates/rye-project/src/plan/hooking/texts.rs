//! The texts that hooks put before a model: knowledge, and instructions of directives.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::{Capability, Kind};
use rye_parse::{Directive, Knowledge, Outputs, Primary};
use rye_prompt::{HookEntry, Inputs, Link, render};
use rye_resolve::{Item, ItemId, Library, PlacedHook, ResolveError};
use rye_thread::{AuthorisedCall, PaletteEntry, Tool, ToolOutput, ToolSpec};
use rye_types::{Effect, ReturnStyle};
use serde_json::{Value, json};

use super::entry;

/// The items, and each as the loop runs it, by the name that actions call it by.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) knowledge: Vec<Item<Knowledge>>,
    pub(super) directives: Vec<Item<Directive>>,
    entries: BTreeMap<String, PaletteEntry>,
}

impl Texts {
    /// Knowledge as the prompt takes it; `None` where it cannot be had, which is told in `missing`.
    pub(super) fn knowledge(
        &mut self,
        library: &Library,
        id: &ItemId,
        placed: &PlacedHook,
        missing: &mut Vec<ResolveError>,
    ) -> Option<HookEntry> {
        if let Some(known) = self.knowledge.iter().find(|item| item.id == *id) {
            return Some(entry(known, placed));
        }
        match library.knowledge(id) {
            Ok(item) => {
                let entry = entry(&item, placed);
                self.knowledge.push(item);
                Some(entry)
            }
            Err(error) => {
                missing.push(error);
                None
            }
        }
    }

    /// Knowledge as an action of the loop runs it.
    pub(super) fn knowledge_text(
        &mut self,
        library: &Library,
        id: &ItemId,
        placed: &PlacedHook,
        primary: Primary,
        missing: &mut Vec<ResolveError>,
    ) -> Result<Option<String>, String> {
        let Some(entry) = self.knowledge(library, id, placed, missing) else { return Ok(None) };
        let bare = if placed.wrap { "" } else { " bare" };
        let name = format!("{primary} knowledge {id}{bare}");
        let primary = match primary {
            Primary::Execute => rye_caps::Primary::Execute,
            _ => rye_caps::Primary::Load,
        };
        self.admit(
            &name,
            capability(primary, Kind::Knowledge, id)?,
            Arc::new(TextTool(entry.text())),
        );
        Ok(Some(name))
    }

    /// A directive as an action of the loop runs it: its instructions, to be followed in the same thread.
    pub(super) fn directive(
        &mut self,
        library: &Library,
        id: &ItemId,
        missing: &mut Vec<ResolveError>,
    ) -> Result<Option<String>, String> {
        let name = format!("execute directive {id}");
        if self.entries.contains_key(&name) {
            return Ok(Some(name));
        }
        let item = match library.directive(id) {
            Ok(item) => item,
            Err(error) => {
                missing.push(error);
                return Ok(None);
            }
        };
        // What the thread is to return stays what it was.
        let mut directive = item.content.value().clone();
        directive.outputs = Outputs::None;
        let instructions = Instructions { id: id.to_string(), directive };
        let capability = capability(rye_caps::Primary::Execute, Kind::Directive, id)?;
        self.admit(&name, capability, Arc::new(instructions));
        self.directives.push(item);
        Ok(Some(name))
    }

    fn admit(&mut self, name: &str, capability: Capability, tool: Arc<dyn Tool>) {
        let spec = ToolSpec::new("", "", json!({"type": "object"}));
        let entry = PaletteEntry::new(name, spec, capability, Effect::ReadOnly, tool);
        self.entries.insert(name.to_owned(), entry);
    }

    pub(super) fn entries(&self) -> Vec<PaletteEntry> {
        self.entries.values().cloned().collect()
    }
}

fn capability(primary: rye_caps::Primary, kind: Kind, id: &ItemId) -> Result<Capability, String> {
    Capability::new(primary, kind, id.as_str()).map_err(|error| error.to_string())
}

/// Knowledge, as the model reads it.
struct TextTool(String);

#[async_trait]
impl Tool for TextTool {
    async fn call(&self, _: AuthorisedCall) -> ToolOutput {
        ToolOutput::ok(Value::String(self.0.clone()))
    }
}

/// The instructions of a directive, with the arguments as its inputs.
struct Instructions {
    id: String,
    directive: Directive,
}

impl Instructions {
    fn text(&self, arguments: &Value) -> Result<String, String> {
        let given: BTreeMap<String, Value> = match arguments {
            Value::Object(members) => members.clone().into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let inputs = Inputs::bind(&self.directive.inputs, &given).map_err(|it| it.to_string())?;
        let link = Link::new(&self.id, &self.directive);
        render(link, None, &inputs, ReturnStyle::default()).map_err(|it| it.to_string())
    }
}

#[async_trait]
impl Tool for Instructions {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        match self.text(&arguments) {
            Ok(text) => ToolOutput::ok(Value::String(text)),
            Err(problem) => ToolOutput::error(json!({ "error": problem })),
        }
    }
}
