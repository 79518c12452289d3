//! The plan, and the turns that it comes to.

use rye_thread::DIRECTIVE_RETURN;
use serde_json::{Map, Value};

use super::reference::{Piece, pieces};

/// A step to be followed without a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedStep {
    /// What later steps call it in `${steps.NAME.key}`.
    pub name: String,
    /// What it is for; shown, not acted upon.
    pub description: String,
    /// Its actions, all made in one turn.
    pub calls: Vec<PlannedCall>,
}

impl PlannedStep {
    /// A step with its actions in order.
    pub fn new(name: &str, description: &str, calls: Vec<PlannedCall>) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), calls }
    }
}

/// An action of a step, whether or not it can be run without a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedCall {
    /// `execute`, `search`, `load`, `sign` or `fetch`.
    pub primary: String,
    /// `tool`, `directive` or `knowledge`, where the action says.
    pub item_type: Option<String>,
    /// The item, where the action says.
    pub item_id: Option<String>,
    /// Inputs are placed; `${steps.NAME.key}` is still as written.
    pub parameters: Map<String, Value>,
    /// The other arguments of the operation itself, such as `thread`.
    pub options: Map<String, Value>,
}

impl PlannedCall {
    /// An action as a directive's step has it.
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
        }
    }

    /// The same action with other arguments of the operation itself.
    #[must_use]
    pub fn with_options(self, options: Map<String, Value>) -> Self {
        Self { options, ..self }
    }

    /// The execution of a tool.
    pub fn tool(item_id: &str, parameters: Map<String, Value>) -> Self {
        Self::new("execute", Some("tool"), Some(item_id), parameters)
    }

    /// How many places of the parameters name the result of an earlier step.
    pub fn references(&self) -> usize {
        self.parameters.values().map(references).sum()
    }

    /// The tool that a model would call for it; nothing where only a model can do it.
    pub(super) fn tool_name(&self) -> Option<String> {
        match self.primary.as_str() {
            "execute" => self.is_executable().then(|| "rye_execute".to_owned()),
            "fetch" | "load" | "search" | "sign" => Some(format!("rye_{}", self.primary)),
            _ => None,
        }
    }

    /// The tool to execute, unless it is another action.
    pub(super) fn tool_id(&self) -> Option<&str> {
        let is_tool = self.primary == "execute" && self.item_type.as_deref() == Some("tool");
        self.item_id.as_deref().filter(|_| is_tool)
    }

    fn is_executable(&self) -> bool {
        let is_item = matches!(self.item_type.as_deref(), Some("directive" | "knowledge" | "tool"));
        is_item && self.item_id.is_some()
    }

    /// Whether it takes a directive into the conversation, to be followed there.
    pub(super) fn is_directive(&self) -> bool {
        let is_fork = self.options.get("thread").is_some_and(|thread| thread == "fork");
        self.primary == "execute" && self.item_type.as_deref() == Some("directive") && !is_fork
    }

    pub(super) fn is_return(&self) -> bool {
        self.tool_id() == Some(DIRECTIVE_RETURN)
    }

    /// The action in a few words, for the note that it was skipped.
    pub(super) fn shown(&self) -> String {
        let words =
            [Some(self.primary.as_str()), self.item_type.as_deref(), self.item_id.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn references(value: &Value) -> usize {
    match value {
        Value::String(text) => {
            let is_reference = |piece: &Piece<'_>| matches!(piece, Piece::Reference(_));
            pieces(text).iter().filter(|piece| is_reference(piece)).count()
        }
        Value::Array(values) => values.iter().map(references).sum(),
        Value::Object(object) => object.values().map(references).sum(),
        _ => 0,
    }
}

/// An output that the directive declares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedOutput {
    /// The key that a step's result must have to give it.
    pub name: String,
    /// What it means when no result has it.
    pub presence: Presence,
}

/// Whether an output may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the `required` attribute by name")]
pub enum Presence {
    /// It is left out when no result has it.
    Optional,
    /// The run fails when no result has it.
    Required,
}

impl PlannedOutput {
    /// An output that may be left out.
    pub fn optional(name: &str) -> Self {
        Self { name: name.to_owned(), presence: Presence::Optional }
    }

    /// An output that must be found.
    pub fn required(name: &str) -> Self {
        Self { name: name.to_owned(), presence: Presence::Required }
    }
}

/// One turn: a step with something to run, and what was skipped before it.
pub(super) struct Turn {
    /// The name of the step.
    pub(super) name: String,
    pub(super) description: String,
    /// The calls with their ids, which depend on the plan alone.
    pub(super) calls: Vec<(String, PlannedCall)>,
    pub(super) notes: Vec<String>,
}

impl Turn {
    /// The turn of a directive that another one executed: it returns no outputs, because the thread is not its own. It may
    /// have no call left.
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

/// The turns of a plan, and the notes that are left for its end. The ids of its calls begin with `prefix`.
pub(super) fn turns(steps: &[PlannedStep], prefix: &str) -> (Vec<Turn>, Vec<String>) {
    let mut turns: Vec<Turn> = Vec::new();
    let mut notes = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        notes.extend(skipped(step));
        let runnable = step.calls.iter().filter(|call| call.tool_name().is_some()).enumerate();
        let id = |place: usize| format!("{prefix}_{}_{}", index + 1, place + 1);
        let calls: Vec<_> = runnable.map(|(place, call)| (id(place), call.clone())).collect();
        if !calls.is_empty() {
            let (name, description) = (step.name.clone(), step.description.clone());
            turns.push(Turn { name, description, calls, notes: std::mem::take(&mut notes) });
        }
    }
    (turns, notes)
}

fn skipped(step: &PlannedStep) -> Vec<String> {
    let name = &step.name;
    if step.calls.is_empty() {
        return vec![format!("Skipped step `{name}` for want of a model: it has no action.")];
    }
    let others = step.calls.iter().filter(|call| call.tool_name().is_none());
    others
        .map(|call| format!("Skipped `{}` of step `{name}` for want of a model.", call.shown()))
        .collect()
}
