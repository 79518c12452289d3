//! The tools that one thread offers its model, and what a call by the model means.

mod alone;
mod execute;
mod name;
mod operation;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use rye_caps::{Authority, Capability, Grant, Invocation, Kind, Permit, Primary};
use serde_json::Value;

pub(crate) use self::alone::MISFIT;
pub(crate) use self::execute::{EXECUTE, arguments as execute_arguments};
use self::execute::{Execution, execution, fork_arguments, inline_arguments};
pub use self::name::palette_name;
use self::operation::OPERATIONS;
pub use self::operation::{Need, Needs};
pub(crate) use self::resolve::{Resolved, Unresolved};
use crate::{
    Asking, Children, DIRECTIVE_RETURN, Effect, OutputContract, THREAD_DIRECTIVE, Tool, ToolOutput,
    ToolSpec,
};

/// One tool to offer.
#[derive(Clone)]
#[non_exhaustive]
pub struct PaletteEntry {
    /// The item id, such as `rye/file-system/read`.
    pub item_id: String,
    /// Further item ids that mean the same tool, such as `fs_read`.
    pub aliases: Vec<String>,
    /// What the model is shown; the palette replaces the name by the one of SPEC 5.4.
    pub spec: ToolSpec,
    /// What an authority must allow before a call: the item, with the functions that it stands for.
    pub invocation: Invocation,
    /// What a second call would do.
    pub effect: Effect,
    /// Whether somebody must approve each call.
    pub asking: Asking,
    /// The tool itself.
    pub tool: Arc<dyn Tool>,
    /// Who starts the children, for the one tool that does.
    pub(crate) children: Option<Arc<dyn Children>>,
    /// What calls need, for an operation, instead of `invocation`.
    pub(crate) needs: Option<Arc<dyn Needs>>,
    /// The capabilities of which each use waits for somebody.
    pub(crate) asked: Grant,
}

impl PaletteEntry {
    /// A tool without aliases. A [`Capability`] alone is the invocation of a tool that stands for nothing else.
    #[must_use]
    pub fn new(
        item_id: &str,
        spec: ToolSpec,
        invocation: impl Into<Invocation>,
        effect: Effect,
        tool: Arc<dyn Tool>,
    ) -> Self {
        Self {
            item_id: item_id.to_owned(),
            aliases: Vec::new(),
            spec,
            invocation: invocation.into(),
            effect,
            asking: Asking::Never,
            tool,
            children: None,
            needs: None,
            asked: Grant::nothing(),
        }
    }

    /// An operation on items, such as `rye_load`, of which each call needs what `needs` says and nothing else.
    #[must_use]
    pub fn operation(
        name: &str,
        spec: ToolSpec,
        needs: Arc<dyn Needs>,
        effect: Effect,
        tool: Arc<dyn Tool>,
    ) -> Self {
        let entry = Self::new(name, spec, nothing(), effect, tool);
        Self { needs: Some(needs), ..entry }
    }

    /// The tool that starts children (SPEC 10.9). Its arguments are an object with at least the text `directive`, the id of
    /// what the child follows, which the authority must allow to execute beside the tool itself.
    #[must_use]
    pub fn spawning(
        item_id: &str,
        spec: ToolSpec,
        invocation: impl Into<Invocation>,
        children: Arc<dyn Children>,
    ) -> Self {
        // A child that is on record is gone on with, so that to ask for it twice is to ask for it once.
        let tool = Arc::new(Inert);
        let entry = Self::new(item_id, spec, invocation, Effect::Idempotent, tool);
        Self { children: Some(children), ..entry }
    }

    /// The same tool, of which each call waits for somebody.
    #[must_use]
    pub fn with_asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        self
    }

    /// The same tool, of which each call waits for a decision that uses a capability which `asked` allows: the item's or that
    /// of a function behind it.
    #[must_use]
    pub fn asking_for(mut self, asked: &Grant) -> Self {
        self.asked = asked.clone();
        self
    }

    /// Returns `true` if each call waits for a decision, whatever its arguments are.
    pub(crate) fn waits(&self) -> bool {
        self.asking == Asking::Always || self.invocation.meets(&self.asked)
    }

    /// The same tool under further ids.
    #[must_use]
    pub fn with_aliases(mut self, aliases: &[&str]) -> Self {
        self.aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        self
    }
}

impl fmt::Debug for PaletteEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaletteEntry")
            .field("item_id", &self.item_id)
            .field("aliases", &self.aliases)
            .field("spec", &self.spec)
            .field("invocation", &self.invocation)
            .field("effect", &self.effect)
            .field("asking", &self.asking)
            .finish_non_exhaustive()
    }
}

/// The tools of one thread, under the names that its model sees.
///
/// Besides, it may offer operations on items, whose names no tool gets: `rye_search`, `rye_load`, `rye_fetch` and `rye_sign`.
/// Every palette also offers `rye_execute`, which runs a tool of the palette by its item id, and, where outputs are
/// declared, `directive_return`. Both are resolved to what they mean before any authority is asked (SPEC 9.4).
#[derive(Debug)]
pub struct Palette {
    offered: BTreeMap<String, Offered>,
    names: BTreeMap<String, String>,
    fork: Option<Offered>,
    /// What returns directives and knowledge into the conversation.
    inline: Option<Inline>,
    operations: BTreeMap<String, Offered>,
    /// The operations that the model is not shown.
    closed: BTreeSet<String>,
}

impl Palette {
    /// Names the tools and reads their input schemas, without any network.
    ///
    /// # Errors
    ///
    /// Every problem at once: an id or alias that stands for two tools or is reserved, and schemas that cannot be used.
    pub fn new(entries: Vec<PaletteEntry>) -> Result<Self, PaletteError> {
        let mut problems = Vec::new();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.item_id.as_str()).collect();
        let given = name::assign(&ids);
        let (offered, names, fork, inline) = (BTreeMap::new(), BTreeMap::new(), None, None);
        let (operations, closed) = (BTreeMap::new(), BTreeSet::new());
        let mut palette = Self { offered, names, fork, inline, operations, closed };
        for (mut entry, name) in entries.into_iter().zip(given) {
            entry.spec.name.clone_from(&name);
            palette.admit(entry, &name, &mut problems);
        }
        if problems.is_empty() { Ok(palette) } else { Err(PaletteError { problems }) }
    }

    /// The same palette, whose `rye_execute` starts children too, with `item_type: "directive"` and `thread: "fork"`, for
    /// which the authority must allow to execute the directive and nothing else.
    ///
    /// # Errors
    ///
    /// When the schema of the arguments cannot be used.
    pub fn with_fork(
        mut self,
        spec: ToolSpec,
        asked: &Grant,
        children: Arc<dyn Children>,
    ) -> Result<Self, PaletteError> {
        let entry = PaletteEntry::spawning(THREAD_DIRECTIVE, spec, nothing(), children);
        match jsonschema::options().offline().build(&entry.spec.input_schema) {
            Ok(validator) => {
                self.fork = Some(Offered { entry: entry.asking_for(asked), validator });
                Ok(self)
            }
            Err(error) => {
                let (id, message) = (THREAD_DIRECTIVE.to_owned(), error.to_string());
                Err(PaletteError { problems: vec![PaletteProblem::Schema { id, message }] })
            }
        }
    }

    /// The same palette, whose `rye_execute` also returns directives and knowledge into the conversation (SPEC D16). A model is
    /// shown this for items of `kinds`; a call for an item of another kind is refused by the authority, which says why.
    ///
    /// # Errors
    ///
    /// When the schema of the arguments cannot be used.
    pub fn with_inline(
        mut self,
        entry: PaletteEntry,
        kinds: Vec<Kind>,
    ) -> Result<Self, PaletteError> {
        match jsonschema::options().offline().build(&entry.spec.input_schema) {
            Ok(validator) => {
                self.inline = Some(Inline { offered: Offered { entry, validator }, kinds });
                Ok(self)
            }
            Err(error) => {
                let (id, message) = (entry.item_id, error.to_string());
                Err(PaletteError { problems: vec![PaletteProblem::Schema { id, message }] })
            }
        }
    }

    /// Who starts the children of the thread, where it may have any.
    pub(crate) fn children(&self) -> Option<&Arc<dyn Children>> {
        let offered = self.fork.iter().chain(self.offered.values());
        offered.filter_map(|offered| offered.entry.children.as_ref()).next()
    }

    /// Whether this is what `rye_execute` starts children with, which is no tool of the palette.
    pub(crate) fn is_fork(&self, offered: &Offered) -> bool {
        self.fork.as_ref().is_some_and(|fork| std::ptr::eq(fork, offered))
    }

    fn admit(&mut self, entry: PaletteEntry, name: &str, problems: &mut Vec<PaletteProblem>) {
        for id in std::iter::once(&entry.item_id).chain(&entry.aliases) {
            if id == DIRECTIVE_RETURN {
                problems.push(PaletteProblem::Reserved { id: id.clone() });
            } else if self
                .names
                .insert(id.clone(), name.to_owned())
                .is_some_and(|other| other != name)
            {
                problems.push(PaletteProblem::TwoTools { id: id.clone() });
            }
        }
        match jsonschema::options().offline().build(&entry.spec.input_schema) {
            Ok(_) if self.offered.contains_key(name) => {
                problems.push(PaletteProblem::TwoTools { id: entry.item_id });
            }
            Ok(validator) => {
                drop(self.offered.insert(name.to_owned(), Offered { entry, validator }))
            }
            Err(error) => {
                problems
                    .push(PaletteProblem::Schema { id: entry.item_id, message: error.to_string() });
            }
        }
    }

    /// What the model is shown: every tool, open operations, `rye_execute`, and `directive_return` where outputs are declared, sorted
    /// by name.
    #[must_use]
    pub fn specs(&self, contract: &OutputContract) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> =
            self.offered.values().map(|offered| offered.entry.spec.clone()).collect();
        let open = self.operations.iter().filter(|(name, _)| !self.closed.contains(*name));
        specs.extend(open.map(|(_, offered)| offered.entry.spec.clone()));
        let ids = self.names.keys().map(String::as_str);
        let fork = self.fork.as_ref().map(|fork| &fork.entry.spec);
        let inline = self.inline.as_ref().map_or(&[][..], |inline| inline.kinds.as_slice());
        specs.push(execute::spec(ids, contract, fork, inline));
        if !contract.is_empty() {
            specs.push(ToolSpec::new(
                &palette_name(DIRECTIVE_RETURN),
                "Returns the outputs of the directive and ends the thread.",
                contract.schema(),
            ));
        }
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
    }

    /// Palette name and item id of every tool, sorted by name; aliases are not listed.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.offered.iter().map(|(name, offered)| (name.as_str(), offered.entry.item_id.as_str()))
    }

    fn by_id(&self, id: &str) -> Option<&Offered> {
        self.names.get(id).and_then(|name| self.offered.get(name))
    }
}

/// In the place of a capability, for what needs another one with each call.
fn nothing() -> Capability {
    Capability::new(Primary::Execute, Kind::Directive, "none").expect("because it is an id")
}

/// What starts children is done by the driver.
struct Inert;

#[async_trait::async_trait]
impl Tool for Inert {
    async fn call(&self, _: &Permit, _: Value) -> ToolOutput {
        ToolOutput::error(serde_json::json!({ "error": "no thread can be started here" }))
    }
}

/// What `rye_execute` does with items that are no tools.
#[derive(Debug)]
struct Inline {
    offered: Offered,
    /// The kinds of items that a model is shown it for.
    kinds: Vec<Kind>,
}

/// A tool with its compiled input schema.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) entry: PaletteEntry,
    validator: Validator,
}

impl Offered {
    /// What a call needs, where this is an operation.
    pub(crate) fn need(
        &self,
        arguments: &Value,
        authority: &Authority,
    ) -> Option<Result<Need, ToolOutput>> {
        self.entry.needs.as_ref().map(|needs| needs.need(arguments, authority))
    }

    /// What a second call with these arguments would do.
    pub(crate) fn effect(&self, arguments: &Value) -> Effect {
        let own = self.entry.needs.as_ref().and_then(|needs| needs.effect(arguments));
        own.unwrap_or(self.entry.effect)
    }

    /// Why the arguments do not satisfy the input schema; empty when they do.
    pub(crate) fn problems(&self, arguments: &Value) -> Vec<String> {
        problems(&self.validator, arguments)
    }
}

/// Why arguments do not satisfy the input schema of a tool, with every problem; empty when they do. A schema that cannot be used
/// is the one problem.
#[must_use]
pub fn schema_problems(schema: &Value, arguments: &Value) -> Vec<String> {
    match jsonschema::options().offline().build(schema) {
        Ok(validator) => problems(&validator, arguments),
        Err(error) => vec![format!("the schema of the tool cannot be used: {error}")],
    }
}

fn problems(validator: &Validator, arguments: &Value) -> Vec<String> {
    validator.iter_errors(arguments).take(MAX_PROBLEMS).map(|error| problem(&error)).collect()
}

const MAX_PROBLEMS: usize = 20;
const MAX_PROBLEM_CHARS: usize = 300;

/// The message of one schema error, cut so that a large value is not quoted back to the model in full.
fn problem(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let message: String = error.to_string().chars().take(MAX_PROBLEM_CHARS).collect();
    if path.is_empty() { message } else { format!("at `{path}`: {message}") }
}

/// A set of tools that cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteError {
    problems: Vec<PaletteProblem>,
}

impl PaletteError {
    /// Every problem, at least one.
    #[must_use]
    pub fn problems(&self) -> &[PaletteProblem] {
        &self.problems
    }
}

impl fmt::Display for PaletteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PaletteError {}

/// One reason why tools cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaletteProblem {
    /// The id means something that every thread has of its own.
    #[error("tool id `{id}` is reserved for returning outputs; choose another id")]
    Reserved {
        /// The id.
        id: String,
    },
    /// The input schema cannot be used.
    #[error("input schema of tool `{id}` cannot be used: {message}")]
    Schema {
        /// The tool.
        id: String,
        /// What is wrong with the schema.
        message: String,
    },
    /// Two tools answer to one id.
    #[error("tool id `{id}` stands for two tools; rename one or drop its alias")]
    TwoTools {
        /// The id.
        id: String,
    },
}

#[cfg(test)]
mod tests;
