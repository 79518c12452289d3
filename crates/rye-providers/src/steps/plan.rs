//! Plans and their turns.

use std::collections::BTreeSet;

use rye_parse::step_references;
use rye_thread::DIRECTIVE_RETURN;
use serde_json::{Map, Value};

/// A step that is followed without a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedStep {
    /// The name in references of later steps: `${steps.NAME.key}`.
    pub name: String,
    /// The description, which is only shown.
    pub description: String,
    /// The actions, all called in one turn.
    pub calls: Vec<PlannedCall>,
}

impl PlannedStep {
    /// Makes a step with its actions, in order.
    pub fn new(name: &str, description: &str, calls: Vec<PlannedCall>) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), calls }
    }
}

/// An action of a step. Some actions need a model and are skipped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedCall {
    /// `execute`, `search`, `load`, `sign` or `fetch`.
    pub primary: String,
    /// `tool`, `directive` or `knowledge`, if the action names one.
    pub item_type: Option<String>,
    /// The id of the item, if the action names one.
    pub item_id: Option<String>,
    /// The parameters. Inputs are already inserted; references such as `${steps.NAME.key}` are not.
    pub parameters: Map<String, Value>,
    /// The other arguments of the operation itself, such as `thread`.
    pub options: Map<String, Value>,
    /// The parameters that take text alone. A reference that is all of such a parameter becomes text.
    pub texts: BTreeSet<String>,
}

impl PlannedCall {
    /// Makes an action from the fields of a directive's step.
    pub fn new(
        primary: &str,
        item_type: Option<&str>,
        item_id: Option<&str>,
        parameters: Map<String, Value>,
    ) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            primary: primary.to_owned(),
            item_type: owned(item_type),
            item_id: owned(item_id),
            parameters,
            options: Map::new(),
            texts: BTreeSet::new(),
        }
    }

    /// Sets the other arguments of the operation itself.
    #[must_use]
    pub fn with_options(self, options: Map<String, Value>) -> Self {
        Self { options, ..self }
    }

    /// Sets the parameters that take text alone.
    #[must_use]
    pub fn with_texts(self, texts: BTreeSet<String>) -> Self {
        Self { texts, ..self }
    }

    /// Makes an action that executes a tool.
    pub fn tool(item_id: &str, parameters: Map<String, Value>) -> Self {
        Self::new("execute", Some("tool"), Some(item_id), parameters)
    }

    /// The number of references to results of earlier steps in the parameters.
    pub fn references(&self) -> usize {
        self.parameters.values().map(references).sum()
    }

    /// The tool that a model would call for this action, or `None` if the action needs a model.
    pub(super) fn tool_name(&self) -> Option<String> {
        match self.primary.as_str() {
            "execute" => self.is_executable().then(|| "rye_execute".to_owned()),
            "fetch" | "load" | "search" | "sign" => Some(format!("rye_{}", self.primary)),
            _ => None,
        }
    }

    /// The id of the tool to execute, or `None` for any other action.
    pub(super) fn tool_id(&self) -> Option<&str> {
        let is_tool = self.primary == "execute" && self.item_type.as_deref() == Some("tool");
        self.item_id.as_deref().filter(|_| is_tool)
    }

    fn is_executable(&self) -> bool {
        let is_item = matches!(self.item_type.as_deref(), Some("directive" | "knowledge" | "tool"));
        is_item && self.item_id.is_some()
    }

    /// Returns `true` if the action executes a directive in this thread, so that its steps are followed here.
    pub(super) fn is_directive(&self) -> bool {
        let is_fork = self.options.get("thread").is_some_and(|thread| thread == "fork");
        self.primary == "execute" && self.item_type.as_deref() == Some("directive") && !is_fork
    }

    pub(super) fn is_return(&self) -> bool {
        self.tool_id() == Some(DIRECTIVE_RETURN)
    }

    /// The action in a few words, for messages.
    pub(super) fn label(&self) -> String {
        let words =
            [Some(self.primary.as_str()), self.item_type.as_deref(), self.item_id.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn references(value: &Value) -> usize {
    match value {
        Value::String(text) => step_references(text).len(),
        Value::Array(values) => values.iter().map(references).sum(),
        Value::Object(object) => object.values().map(references).sum(),
        _ => 0,
    }
}

/// An output that the directive declares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedOutput {
    /// The key of the output in the results of steps.
    pub name: String,
    /// Says if the output may be missing.
    pub presence: Presence,
}

/// The `required` attribute of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the `required` attribute by name")]
pub enum Presence {
    /// If no result has it, it is left out.
    Optional,
    /// If no result has it, the run fails.
    Required,
}

impl PlannedOutput {
    /// Makes an output that may be left out.
    pub fn optional(name: &str) -> Self {
        Self { name: name.to_owned(), presence: Presence::Optional }
    }

    /// Makes an output that must be found.
    pub fn required(name: &str) -> Self {
        Self { name: name.to_owned(), presence: Presence::Required }
    }
}

/// A turn: a step with calls, and notes about what was skipped before it.
pub(super) struct Turn {
    /// The name of the step.
    pub(super) name: String,
    pub(super) description: String,
    /// The calls with their ids, which depend on the plan alone.
    pub(super) calls: Vec<(String, PlannedCall)>,
    pub(super) notes: Vec<String>,
}

impl Turn {
    /// Removes the call that returns outputs, because an executed directive does not end the thread. The turn
    /// may have no call left.
    pub(super) fn without_return(mut self) -> Self {
        let before = self.calls.len();
        self.calls.retain(|(_, call)| !call.is_return());
        if self.calls.len() < before {
            let name = &self.name;
            self.notes.push(format!(
                "Left out `{DIRECTIVE_RETURN}` of step `{name}`: the outputs are those of the first directive."
            ));
        }
        self
    }
}

/// Returns the turns of a plan, and the notes for its end. The ids of its calls begin with `prefix`.
pub(super) fn turns(steps: &[PlannedStep], prefix: &str) -> (Vec<Turn>, Vec<String>) {
    let mut turns: Vec<Turn> = Vec::new();
    let mut notes = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        notes.extend(skip_notes(step));
        let runnable = step.calls.iter().filter(|call| call.tool_name().is_some()).enumerate();
        let id = |place: usize| format!("{prefix}_{}_{}", index + 1, place + 1);
        let calls: Vec<_> = runnable.map(|(place, call)| (id(place), call.clone())).collect();
        if !calls.is_empty() {
            let name = step.name.clone();
            let description = step.description.clone();
            turns.push(Turn { name, description, calls, notes: std::mem::take(&mut notes) });
        }
    }
    (turns, notes)
}

fn skip_notes(step: &PlannedStep) -> Vec<String> {
    let name = &step.name;
    if step.calls.is_empty() {
        return vec![format!("Skipped step `{name}` for want of a model: it has no action.")];
    }
    let others = step.calls.iter().filter(|call| call.tool_name().is_none());
    others
        .map(|call| format!("Skipped `{}` of step `{name}` for want of a model.", call.label()))
        .collect()
}
