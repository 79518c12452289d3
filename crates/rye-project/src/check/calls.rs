//! The calls of steps and hooks, held against what they call: parameters, and results of earlier steps (SPEC 5.3, 10.13).

mod execution;
mod parameters;
mod results;

use std::collections::BTreeMap;
use std::ops::Range;

use rye_parse::{
    Action, Directive, Hook, Outputs, Placeholder, Primary, Spanned, StepReference, placeholders,
};
use rye_prompt::{BindProblem, Inputs, ValueOrigin};
use rye_resolve::ItemId;
use rye_thread::ArgumentSchema;
use serde_json::{Map, Value};

use self::execution::OPTIONS;
use self::parameters::Misfit;
use super::catalog::Catalog;
use super::judged::Judged;
use super::tool::{UnusableServer, unusable_server};
use super::{Finding, called_items, event_data};
use crate::aliases::tool_id;
use crate::needs::{Callee, StepCall, callee, is_return};
use crate::plan::typed_by;
use crate::primary::Operation;

/// The findings about the calls of a directive's own steps and hooks.
pub(super) fn findings(catalog: &Catalog<'_>, judged: &Judged<'_>, source: &str) -> Vec<Finding> {
    let directive = judged.leaf;
    let mut findings = Vec::new();
    for StepCall { step, placed, .. } in &judged.calls {
        let by = format!("step `{step}`");
        let filling = Filling::Inputs;
        let notation = Notation::Xml;
        let calls = Calls { catalog, source, by: &by, filling, notation };
        findings.extend(calls.of_step(placed, directive));
    }
    for hook in directive.hooks.iter().map(|hook| &hook.value) {
        findings.extend(of_hook(catalog, hook, source, Notation::Xml));
        findings.extend(event_data::of_declaring(directive, hook, source));
    }
    findings.extend(results::findings(catalog, directive, source));
    findings.extend(results::namesakes(directive, source));
    findings
}

/// The findings about the calls of a hook.
pub(super) fn of_hook(
    catalog: &Catalog<'_>,
    hook: &Hook,
    source: &str,
    notation: Notation,
) -> Vec<Finding> {
    let by = format!("hook `{}`", hook.id.value);
    let calls = Calls { catalog, source, by: &by, filling: Filling::Event, notation };
    let mut findings: Vec<Finding> =
        hook.actions.iter().flat_map(|action| calls.of_execution(action)).collect();
    findings.extend(event_data::of_hook(hook, source));
    findings.extend(called_items::of_hook(catalog, hook, source));
    findings
}

/// The form in which a file writes its calls, and in which help shows them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// Elements of a directive.
    Xml,
    /// Mappings of a hooks file.
    Yaml,
    /// The inputs of a child, which are one parameter of the call that starts it.
    Inputs,
}

/// The source of the values that take the place of placeholders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// The inputs of a directive and the results of its earlier steps.
    Inputs,
    /// The data of a hook's event.
    Event,
}

/// The surroundings of a call.
struct Calls<'c> {
    catalog: &'c Catalog<'c>,
    source: &'c str,
    /// The step or hook that calls.
    by: &'c str,
    filling: Filling,
    notation: Notation,
}

impl Calls<'_> {
    fn of_step(&self, action: &Spanned<Action>, directive: &Directive) -> Vec<Finding> {
        if is_return(&action.value) {
            return self.of_return(action, &directive.outputs);
        }
        let operation = Operation::ALL
            .iter()
            .copied()
            .find(|it| it.name().strip_prefix("rye_") == Some(action.value.primary.as_str()));
        match operation {
            Some(operation) => self.of_operation(action, operation),
            None => self
                .of_execution(action)
                .into_iter()
                .chain(self.of_unusable_server(action))
                .collect(),
        }
    }

    /// A step that calls a tool of a server of which no thread is offered any is refused before it begins (SPEC 9.4).
    fn of_unusable_server(&self, action: &Spanned<Action>) -> Option<Finding> {
        let called = &action.value;
        let is_tool = called.item_type.as_deref() == Some("tool");
        let id = called.item_id.as_deref().filter(|_| is_tool)?;
        let tool = self.catalog.tool(&tool_id(id).parse().ok()?)?;
        let UnusableServer { code, message, help } = unusable_server(self.catalog, tool)?;
        let message = format!("{} calls `{id}`, and {message}", self.by);
        let finding = Finding::error(code, &message, action.span.clone());
        let finding = Finding { bars_signing: false, ..finding };
        Some(finding.with_label("refused before it begins").with_help(&help))
    }

    /// A search, load, fetch or signature, whose arguments stand beside the item.
    fn of_operation(&self, action: &Spanned<Action>, operation: Operation) -> Vec<Finding> {
        let called = &action.value;
        let mut given = called.parameters.clone();
        given.extend(called.options.clone());
        let named = [
            ("item_type", &called.item_type),
            ("item_id", &called.item_id),
            ("query", &called.query),
            ("scope", &called.scope),
        ];
        for (name, value) in named {
            given.extend(value.as_ref().map(|text| (name.to_owned(), text.as_str().into())));
        }
        let schema = operation.input_schema();
        let Ok(compiled) = ArgumentSchema::new(&schema) else {
            return Vec::new();
        };
        let misfits = self.misfits(&schema, &compiled, given);
        self.findings(action, &format!("`{}`", operation.name()), misfits)
    }

    /// The execution of a tool or directive.
    fn of_execution(&self, action: &Spanned<Action>) -> Vec<Finding> {
        let called = &action.value;
        if called.primary != Primary::Execute {
            return Vec::new();
        }
        let (Some(item_type), Some(id)) = (called.item_type.as_deref(), called.item_id.as_deref())
        else {
            return vec![self.incomplete(action)];
        };
        let (misfits, known) = match item_type {
            "tool" => (self.of_tool(called, id), &[][..]),
            "directive" => (self.of_directive(called, id), OPTIONS),
            "knowledge" => (Some(Vec::new()), OPTIONS),
            _ => return Vec::new(),
        };
        let mut findings = Vec::new();
        if item_type != "tool" {
            findings.extend(self.of_options(action));
        }
        if item_type == "knowledge" {
            findings.extend(self.of_knowledge(action));
        }
        let Some(misfits) = misfits else { return findings };
        findings.extend(self.findings(action, &format!("`{id}`"), misfits));
        findings.extend(self.of_child(action));
        let passed_over = called.options.keys().filter(|name| !known.contains(&name.as_str()));
        findings.extend(passed_over.map(|name| self.passed_over(action, name)));
        findings
    }

    fn of_tool(&self, called: &Action, id: &str) -> Option<Vec<Misfit>> {
        let id: ItemId = tool_id(id).parse().ok()?;
        let (schema, compiled) = self.catalog.input_schema(&id)?;
        Some(self.misfits(schema, compiled, called.parameters.clone()))
    }

    /// The inputs of the directive that a call of a tool starts as a thread.
    fn of_child(&self, action: &Spanned<Action>) -> Vec<Finding> {
        let is_tool = action.value.item_type.as_deref() == Some("tool");
        let Some(Callee::Child(id)) = callee(&action.value, self.catalog).filter(|_| is_tool)
        else {
            return Vec::new();
        };
        let parameters = &action.value.parameters;
        let given = parameters.get("inputs").or(parameters.get("parameters"));
        let Some(inputs) = self.inputs(given) else { return Vec::new() };
        let misfits = self.of_inputs(&inputs, &id).unwrap_or_default();
        let what = format!("directive `{id}`");
        let finding = |misfit: Misfit| {
            let place = self.place(action, misfit.given_name());
            misfit.finding(self.by, &what, place, false, Notation::Inputs)
        };
        misfits.into_iter().map(finding).collect()
    }

    /// The inputs that a call gives a child, by name; `None` if they are known only when the call is made.
    fn inputs(&self, given: Option<&Value>) -> Option<Map<String, Value>> {
        match given {
            None => Some(Map::new()),
            Some(Value::Object(inputs)) => Some(inputs.clone()),
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            Some(_) => None,
        }
    }

    fn of_directive(&self, called: &Action, id: &str) -> Option<Vec<Misfit>> {
        self.of_inputs(&called.parameters, &id.parse().ok()?)
    }

    fn of_inputs(&self, given: &Map<String, Value>, id: &ItemId) -> Option<Vec<Misfit>> {
        let (_, directive) = self.catalog.directive(id)?;
        let given: BTreeMap<String, Value> = given.clone().into_iter().collect();
        let Err(error) = Inputs::bind(&directive.inputs, &given) else { return Some(Vec::new()) };
        let is_open = |name: &str| given.get(name).is_some_and(|value| self.is_open(value));
        let missing = error.problems().iter().filter_map(|problem| match problem {
            BindProblem::Missing { name } => Some(name.as_str()),
            _ => None,
        });
        let misfits = error.problems().iter().filter_map(|problem| match problem {
            BindProblem::Unknown { name, suggestion } => {
                Some(Misfit::unknown(name, suggestion.as_deref()))
            }
            BindProblem::WrongType { name, origin: ValueOrigin::Given, .. }
            | BindProblem::NotAChoice { name, origin: ValueOrigin::Given, .. }
                if !is_open(name) =>
            {
                Some(Misfit::unfit(name, &problem.to_string()))
            }
            _ => None,
        });
        Some(Misfit::missing(missing).into_iter().chain(misfits).collect())
    }

    /// A call that returns outputs. Its values are often written as descriptions for a model, so that names alone are judged.
    fn of_return(&self, action: &Spanned<Action>, outputs: &Outputs) -> Vec<Finding> {
        let declared: Vec<(&str, bool)> = match outputs {
            Outputs::None => return Vec::new(),
            Outputs::List(outputs) => {
                let outputs = outputs.iter().map(|output| &output.value);
                outputs.map(|output| (output.name.value.as_str(), output.required)).collect()
            }
            Outputs::Dict(outputs) => {
                outputs.iter().map(|output| (output.value.name.as_str(), false)).collect()
            }
        };
        let given = &action.value.parameters;
        let names = || declared.iter().map(|(name, _)| *name);
        let unknown = given.keys().filter(|name| !names().any(|known| known == *name));
        let unknown =
            unknown.map(|name| Misfit::unknown(name, rye_parse::nearest_name(name, names())));
        let lacking =
            declared.iter().filter(|(name, required)| *required && !given.contains_key(*name));
        let lacking = Misfit::missing(lacking.map(|(name, _)| *name));
        let misfits = unknown.chain(lacking).collect();
        self.findings(action, "`directive_return`", misfits)
    }

    fn misfits(
        &self,
        schema: &Value,
        compiled: &ArgumentSchema,
        given: Map<String, Value>,
    ) -> Vec<Misfit> {
        let open: Vec<String> = given
            .iter()
            .filter(|(_, value)| self.is_open(value))
            .map(|(name, _)| name.clone())
            .collect();
        parameters::misfits(schema, compiled, &Value::Object(typed_by(schema, given)), &open)
    }

    /// Returns `true` if the value is known only when the call is made.
    fn is_open(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => match self.filling {
                Filling::Event => text.contains("${"),
                Filling::Inputs => {
                    // In a call that a model reads, such a text stands for what the model finds.
                    let is_description =
                        text.contains('<') || text.contains("...") || text.contains('…');
                    is_description || placeholders(text).iter().any(|it| !is_escaped(&it.value))
                }
            },
            Value::Array(values) => values.iter().any(|value| self.is_open(value)),
            Value::Object(members) => members.values().any(|value| self.is_open(value)),
            _ => false,
        }
    }

    fn findings(&self, action: &Spanned<Action>, what: &str, misfits: Vec<Misfit>) -> Vec<Finding> {
        // A call without any parameter may only be named, for a model to fill in.
        let is_bare = action.value.parameters.is_empty() && action.value.options.is_empty();
        let told = |misfit: Misfit| {
            let place = self.place(action, misfit.given_name());
            misfit.finding(self.by, what, place, is_bare, self.notation)
        };
        misfits.into_iter().map(told).collect()
    }

    /// A call that does not say what it executes, so that no run carries it out.
    fn incomplete(&self, action: &Spanned<Action>) -> Finding {
        let missing = [("item_type", &action.value.item_type), ("item_id", &action.value.item_id)];
        let missing = missing.iter().filter(|(_, value)| value.is_none());
        let missing: Vec<String> = missing.map(|(name, _)| format!("`{name}`")).collect();
        let message = format!(
            "{}: the call has no {}, so that a run without a model leaves it out",
            self.by,
            missing.join(" and no ")
        );
        let help = match self.notation {
            Notation::Xml | Notation::Inputs => {
                "write `<execute item_type=\"tool\" item_id=\"…\">`, with the kind and the id of the item"
            }
            Notation::Yaml => "add `item_type` and `item_id`, the kind and the id of the item",
        };
        let finding = Finding::warning("incomplete-call", &message, self.place(action, None));
        finding.with_label("executes nothing").with_help(help)
    }

    /// An argument of the operation that it does not have, and that a call therefore does not pass on.
    fn passed_over(&self, action: &Spanned<Action>, name: &str) -> Finding {
        let message =
            format!("{}: `execute` has no argument `{name}`, so that it is passed over", self.by);
        let help = match self.notation {
            Notation::Xml | Notation::Inputs => format!(
                "give it to what is called: `<param name=\"{name}\" value=\"…\" />`, or `parameters={{\"{name}\": …}}`"
            ),
            Notation::Yaml => format!("give it to what is called: `params: {{{name}: …}}`"),
        };
        let finding = Finding::error("unknown-argument", &message, self.place(action, Some(name)));
        finding.with_label("passed over").with_help(&help)
    }

    /// The place of a parameter by its name, or of the whole call.
    fn place(&self, action: &Spanned<Action>, name: Option<&str>) -> Range<usize> {
        let named = name.and_then(|name| place_of(self.source, &action.span, name));
        named.unwrap_or_else(|| action.span.clone())
    }
}

/// The place of a name within a call: behind `name=`, as the key of JSON, or as an attribute.
fn place_of(source: &str, call: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let text = source.get(call.clone())?;
    let forms = [format!("\"{name}\""), format!("'{name}'"), format!(" {name}=")];
    let (at, form) = forms.iter().find_map(|form| Some((text.find(form.as_str())?, form)))?;
    let start = call.start + at + 1;
    Some(start..start + form.len() - 2)
}

/// Returns `true` for a placeholder that is written as it is.
fn is_escaped(found: &Placeholder) -> bool {
    matches!(found, Placeholder::Escaped { .. })
}

/// The steps that a value refers to, each with the keys behind its name.
fn references(value: &Value) -> Vec<(String, Vec<String>)> {
    match value {
        Value::String(text) => {
            let found = placeholders(text).into_iter();
            let steps = found.filter_map(|found| match found.value {
                Placeholder::Step(StepReference { name, path }) => Some((name, path)),
                Placeholder::Input { .. } | Placeholder::Escaped { .. } => None,
            });
            steps.collect()
        }
        Value::Array(values) => values.iter().flat_map(references).collect(),
        Value::Object(members) => members.values().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
