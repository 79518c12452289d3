//! The provider that answers from a plan.

use async_trait::async_trait;
use rye_thread::{
    DIRECTIVE_RETURN, Provider, ProviderError, ProviderErrorClass, ProviderInfo, Reply, Request,
    StopReason, ToolCall,
};
use rye_types::Prices;
use serde_json::{Map, Value, json};

use super::fill::{fill, key_list, keys, write_as_text};
use super::history::{Finished, History};
use super::plan::{PlannedCall, PlannedOutput, PlannedStep, Presence, Turn};
use super::walk::Walk;

/// A provider that follows planned steps without a model: with real calls and results, but no tokens and no
/// cost (SPEC 10.13).
///
/// It holds no state. The next step follows from the conversation alone, so a resumed thread continues at the
/// right step.
///
/// A step is one turn. Its executions become calls of `rye_execute`; its searches, loads, fetches and
/// signatures become calls of `rye_search` and so on. Other actions, and steps without actions, are named in
/// the text as skipped.
///
/// If a step executes a directive, the steps of that directive are followed before the next step, down to a
/// fixed depth and number. They can refer only to each other's results, and they return no outputs.
///
/// After the last step the provider calls `directive_return`, unless a step called it. Each declared output
/// is taken from the latest result that has a key of that name.
///
/// ```
/// use rye_providers::{PlannedCall, PlannedOutput, PlannedStep, StepsProvider};
/// use rye_thread::Provider;
/// use serde_json::{Map, json};
///
/// let parameters = Map::from_iter([("path".to_owned(), json!("notes"))]);
/// let list = PlannedStep::new("list", "List the notes.", vec![PlannedCall::tool("rye/file-system/ls", parameters)]);
/// let provider = StepsProvider::new(vec![list], vec![PlannedOutput::required("listing")]);
/// assert_eq!(provider.describe().provider, "steps");
/// ```
#[derive(Clone, Debug)]
pub struct StepsProvider {
    steps: Vec<PlannedStep>,
    outputs: Vec<PlannedOutput>,
}

impl StepsProvider {
    /// Makes a provider for these steps, in order, and for the declared outputs of the directive.
    pub fn new(steps: Vec<PlannedStep>, outputs: Vec<PlannedOutput>) -> Self {
        Self { steps, outputs }
    }

    fn reply(&self, request: &Request) -> Result<Reply, String> {
        let history = History::of(&request.messages);
        let mut walk = Walk::new(&self.steps);
        for _ in 0..history.n_turns {
            let turn = walk.next().ok_or_else(|| over(&history))?;
            walk.finish(&turn, &history)?;
        }
        let returns = self.steps.iter().flat_map(|step| &step.calls).any(PlannedCall::is_return);
        if let Some(turn) = walk.next() {
            let is_end = returns && walk.is_over();
            let last_notes = if is_end { walk.last_notes() } else { Vec::new() };
            return step_reply(&turn, &last_notes, walk.referable());
        }
        let last_notes = walk.last_notes();
        if returns || self.outputs.is_empty() {
            return Ok(reply(&last_notes, "Every planned step is done.", Vec::new()));
        }
        let outputs = self.outputs(&walk.finished)?;
        let call = execute(RETURN_ID, DIRECTIVE_RETURN, outputs);
        Ok(reply(&last_notes, "Every planned step is done; these are the results.", vec![call]))
    }

    /// Takes each declared output from the latest result that has it. Returns a message if a required output
    /// is missing.
    fn outputs(&self, finished: &[Finished<'_>]) -> Result<Map<String, Value>, String> {
        let mut outputs = Map::new();
        let mut missing = Vec::new();
        for PlannedOutput { name, presence } in &self.outputs {
            let mut results =
                finished.iter().rev().flat_map(|finished| finished.results.iter().rev());
            match (results.find_map(|result| result.as_object()?.get(name)), presence) {
                (Some(value), _) => drop(outputs.insert(name.clone(), value.clone())),
                (None, Presence::Required) => missing.push(format!("`{name}`")),
                (None, Presence::Optional) => {}
            }
        }
        if missing.is_empty() {
            return Ok(outputs);
        }
        let had = finished
            .iter()
            .map(|finished| format!("`{}` has {}", finished.step, key_list(&keys(finished))));
        let had = had.collect::<Vec<_>>().join("; ");
        let had = if had.is_empty() { "no step has a result".to_owned() } else { had };
        Err(format!("no step's result has the required {}: {had}", missing.join(", ")))
    }
}

#[async_trait]
impl Provider for StepsProvider {
    fn describe(&self) -> ProviderInfo {
        let mut info = ProviderInfo::new("steps", "none", CONTEXT_WINDOW, MAX_OUTPUT);
        info.prices = Some(Prices::free());
        info
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        self.reply(request)
            .map_err(|message| ProviderError::new(ProviderErrorClass::StepFailed, &message))
    }
}

/// Large, because without a model no conversation is too long.
const CONTEXT_WINDOW: u64 = 1 << 40;

/// Small, because a thread reserves the cost of a whole answer, and these answers use no tokens.
const MAX_OUTPUT: u64 = 1;

const RETURN_ID: &str = "step_return";

/// Returns the reason why a finished plan cannot continue.
fn over(history: &History<'_>) -> String {
    let why = history.error_of(RETURN_ID);
    let why = why.map(|error| format!("`{DIRECTIVE_RETURN}` answered: {error}"));
    why.unwrap_or_else(|| "every planned step is done and nothing is left to do".to_owned())
}

fn step_reply(
    turn: &Turn,
    last_notes: &[String],
    finished: &[Finished<'_>],
) -> Result<Reply, String> {
    let mut calls = Vec::new();
    for (id, call) in &turn.calls {
        let mut parameters = fill(&call.parameters, finished)
            .map_err(|reason| format!("the step `{}` cannot begin: {reason}", turn.name))?;
        write_as_text(&call.texts, &call.parameters, &mut parameters);
        calls.push(tool_call(id, call, parameters));
    }
    let notes = [turn.notes.as_slice(), last_notes].concat();
    Ok(reply(&notes, format!("Step `{}`: {}", turn.name, turn.description).trim_end(), calls))
}

/// Makes the tool call of an action.
fn tool_call(id: &str, call: &PlannedCall, parameters: Map<String, Value>) -> ToolCall {
    let Some(name) = call.tool_name().filter(|_| call.tool_id().is_none()) else {
        return execute(id, call.tool_id().unwrap_or_default(), parameters);
    };
    let parameters = match call.primary.as_str() {
        "execute" => taken_in(call, parameters),
        _ => parameters,
    };
    let mut arguments = Map::new();
    let named = [("item_type", &call.item_type), ("item_id", &call.item_id)];
    for (key, value) in named {
        arguments.extend(value.as_ref().map(|value| (key.to_owned(), value.as_str().into())));
    }
    arguments.extend(parameters);
    ToolCall::new(id, &name, Value::Object(arguments))
}

/// Returns the arguments of `rye_execute` for an item that is not a tool, apart from its kind and id.
fn taken_in(call: &PlannedCall, parameters: Map<String, Value>) -> Map<String, Value> {
    let mut arguments = call.options.clone();
    if !parameters.is_empty() {
        arguments.insert("parameters".to_owned(), Value::Object(parameters));
    }
    arguments
}

fn execute(id: &str, item_id: &str, parameters: Map<String, Value>) -> ToolCall {
    let mut arguments = json!({ "item_type": "tool", "item_id": item_id });
    arguments["parameters"] = Value::Object(parameters);
    ToolCall::new(id, "rye_execute", arguments)
}

/// A reply in the shape of Anthropic's content blocks.
fn reply(notes: &[String], text: &str, calls: Vec<ToolCall>) -> Reply {
    let text = notes.iter().map(String::as_str).chain([text]).collect::<Vec<_>>().join("\n");
    let mut blocks = vec![json!({ "type": "text", "text": text })];
    for ToolCall { id, name, arguments, .. } in &calls {
        let input = arguments.as_ref().ok();
        blocks.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
    }
    let raw =
        serde_json::value::to_raw_value(&blocks).expect("because JSON values have a JSON text");
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let mut reply = Reply::new(raw, stop);
    reply.text = text;
    reply.calls = calls;
    reply
}

#[cfg(test)]
mod tests;
