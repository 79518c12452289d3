//! The tools that a thread offers its model, and the resolution of the model's calls.

mod direct_call;
mod execute;
mod name;
mod operation;
mod resolve;
mod withheld;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use rye_caps::{Authority, Capability, Grant, Invocation, Kind, Permit, Primary};
use rye_types::Effect;
use serde_json::Value;

pub(crate) use self::direct_call::MISFIT;
pub use self::execute::execution_problems;
pub(crate) use self::execute::{EXECUTE, arguments as execute_arguments};
use self::execute::{Execution, execution, fork_arguments, inline_arguments};
pub use self::name::{assign as palette_names, palette_name};
pub(crate) use self::name::{bare_name, names_return, words};
use self::operation::OPERATIONS;
pub use self::operation::{Need, Needs};
pub(crate) use self::resolve::{Resolved, Unresolved};
pub use self::withheld::WithheldTool;
use crate::{
    ArgumentSchema, Asking, AuthorisedCall, Children, DIRECTIVE_RETURN, OutputContract,
    SchemaProblem, THREAD_DIRECTIVE, Tool, ToolOutput, ToolSpec,
};

/// One tool to offer.
#[derive(Clone)]
#[non_exhaustive]
pub struct PaletteEntry {
    /// The item id, such as `rye/file-system/read`.
    pub item_id: String,
    /// Further item ids that mean the same tool, such as `fs_read`.
    pub aliases: Vec<String>,
    /// The description for the model. The palette replaces its name by the name of SPEC 5.4.
    pub spec: ToolSpec,
    /// The item that an authority must allow before a call, with the functions behind it.
    pub invocation: Invocation,
    /// The effect of a second call.
    pub effect: Effect,
    /// The approval policy of its calls.
    pub asking: Asking,
    /// The tool itself.
    pub tool: Arc<dyn Tool>,
    /// The supervisor of children, for the one tool that starts them.
    pub(crate) children: Option<Arc<dyn Children>>,
    /// The needs of an operation, instead of `invocation`.
    pub(crate) needs: Option<Arc<dyn Needs>>,
    /// The capabilities whose every use needs approval.
    pub(crate) asked: Grant,
}

impl PaletteEntry {
    /// Creates a tool without aliases.
    ///
    /// A [`Capability`] alone is the invocation of a tool without functions behind it.
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

    /// Creates an operation on items, such as `rye_load`. `needs` says what each call requires, and nothing else is
    /// required.
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

    /// Creates the tool that starts children (SPEC 10.9).
    ///
    /// Its arguments are an object with at least the text `directive`, the id of the child's directive. The authority
    /// must allow to execute that directive as well as the tool itself.
    #[must_use]
    pub fn spawning(
        item_id: &str,
        spec: ToolSpec,
        invocation: impl Into<Invocation>,
        children: Arc<dyn Children>,
    ) -> Self {
        // A recorded child is continued, so a second call has the effect of one.
        let tool = Arc::new(Inert);
        let entry = Self::new(item_id, spec, invocation, Effect::Idempotent, tool);
        Self { children: Some(children), ..entry }
    }

    /// Sets the approval policy of the tool.
    #[must_use]
    pub fn with_asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        self
    }

    /// Requires approval for each call that uses a capability in `asked`, of the item or of a function behind it.
    #[must_use]
    pub fn asking_for(mut self, asked: &Grant) -> Self {
        self.asked = asked.clone();
        self
    }

    /// Returns `true` if each call needs approval, regardless of its arguments.
    pub(crate) fn waits(&self) -> bool {
        self.asking == Asking::Always || self.invocation.meets(&self.asked)
    }

    /// Adds further ids of the tool.
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

/// The tools of one thread, under their palette names.
///
/// A palette may also offer operations on items: `rye_search`, `rye_load`, `rye_fetch` and `rye_sign`. No tool gets
/// these names. Every palette offers `rye_execute`, which runs a tool by its item id. If outputs are declared, it also
/// offers `directive_return`. Both are resolved to their target before any authority is asked (SPEC 9.4).
#[derive(Debug)]
pub struct Palette {
    offered: BTreeMap<String, Offered>,
    names: BTreeMap<String, String>,
    fork: Option<Offered>,
    /// The entry that returns directives and knowledge into the conversation.
    inline: Option<Inline>,
    operations: BTreeMap<String, Offered>,
    /// The operations that the model does not see.
    closed: BTreeSet<String>,
    /// The tools that exist and are not offered.
    withheld: Vec<WithheldTool>,
}

impl Palette {
    /// Names the tools and compiles their input schemas, without network access.
    ///
    /// # Errors
    ///
    /// Every problem at once: an id or alias of two tools, a reserved id, and unusable schemas.
    pub fn new(entries: Vec<PaletteEntry>) -> Result<Self, PaletteError> {
        let mut problems = Vec::new();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.item_id.as_str()).collect();
        let given = name::assign(&ids);
        let mut palette = Self {
            offered: BTreeMap::new(),
            names: BTreeMap::new(),
            fork: None,
            inline: None,
            operations: BTreeMap::new(),
            closed: BTreeSet::new(),
            withheld: Vec::new(),
        };
        for (mut entry, name) in entries.into_iter().zip(given) {
            entry.spec.name.clone_from(&name);
            palette.admit(entry, &name, &mut problems);
        }
        if problems.is_empty() { Ok(palette) } else { Err(PaletteError { problems }) }
    }

    /// Lets `rye_execute` start children, with `item_type: "directive"` and `thread: "fork"`.
    ///
    /// The authority must allow to execute the directive, and nothing else.
    ///
    /// # Errors
    ///
    /// [`PaletteError`] if the schema of the arguments is unusable.
    pub fn with_fork(
        mut self,
        spec: ToolSpec,
        asked: &Grant,
        children: Arc<dyn Children>,
    ) -> Result<Self, PaletteError> {
        let entry = PaletteEntry::spawning(THREAD_DIRECTIVE, spec, nothing(), children);
        self.fork = Some(Offered::new(entry.asking_for(asked))?);
        Ok(self)
    }

    /// Lets `rye_execute` return directives and knowledge into the conversation (SPEC D16).
    ///
    /// The model sees this for items of `kinds`. The authority refuses a call for an item of another kind, with the
    /// reason.
    ///
    /// # Errors
    ///
    /// [`PaletteError`] if the schema of the arguments is unusable.
    pub fn with_inline(
        mut self,
        entry: PaletteEntry,
        kinds: Vec<Kind>,
    ) -> Result<Self, PaletteError> {
        self.inline = Some(Inline { offered: Offered::new(entry)?, kinds });
        Ok(self)
    }

    /// Returns the supervisor of the thread's children, if it may have any.
    pub(crate) fn children(&self) -> Option<&Arc<dyn Children>> {
        let offered = self.fork.iter().chain(self.offered.values());
        offered.filter_map(|offered| offered.entry.children.as_ref()).next()
    }

    /// Returns `true` if this is the entry with which `rye_execute` starts children. It is not a tool of the palette.
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
        match Offered::new(entry) {
            Ok(Offered { entry, .. }) if self.offered.contains_key(name) => {
                problems.push(PaletteProblem::TwoTools { id: entry.item_id });
            }
            Ok(offered) => drop(self.offered.insert(name.to_owned(), offered)),
            Err(problem) => problems.push(problem),
        }
    }

    /// Returns the tools that the model sees, sorted by name.
    ///
    /// These are every tool, the open operations and `rye_execute`, and `directive_return` if outputs are declared. Aliases are
    /// understood in calls and not offered.
    #[must_use]
    pub fn specs(&self, contract: &OutputContract) -> Vec<ToolSpec> {
        let ids = self.offered.values().map(|offered| offered.entry.item_id.as_str());
        self.specs_naming(ids, contract)
    }

    /// Returns the same tools, in the form in which the thread began with them: earlier versions named the aliases of tools to
    /// the model, and the requests of a thread do not change.
    #[must_use]
    pub fn specs_as_recorded(
        &self,
        contract: &OutputContract,
        recorded: &[ToolSpec],
    ) -> Vec<ToolSpec> {
        let with_aliases = self.specs_naming(self.names.keys().map(String::as_str), contract);
        if with_aliases == recorded { with_aliases } else { self.specs(contract) }
    }

    /// Returns the tools that the model sees, where `rye_execute` names these ids.
    fn specs_naming<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
        contract: &OutputContract,
    ) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> =
            self.offered.values().map(|offered| offered.entry.spec.clone()).collect();
        let open = self.operations.iter().filter(|(name, _)| !self.closed.contains(*name));
        specs.extend(open.map(|(_, offered)| offered.entry.spec.clone()));
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

    /// Returns the palette name and item id of every tool, sorted by name, without aliases.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.offered.iter().map(|(name, offered)| (name.as_str(), offered.entry.item_id.as_str()))
    }

    fn by_id(&self, id: &str) -> Option<&Offered> {
        self.names.get(id).and_then(|name| self.offered.get(name))
    }
}

/// Returns a placeholder capability, for entries whose calls need different capabilities.
fn nothing() -> Capability {
    Capability::new(Primary::Execute, Kind::Directive, "none").expect("because it is an id")
}

/// A placeholder tool. The driver itself starts children.
struct Inert;

#[async_trait::async_trait]
impl Tool for Inert {
    async fn call(&self, _: AuthorisedCall) -> ToolOutput {
        ToolOutput::error(serde_json::json!({ "error": "no thread can be started here" }))
    }
}

/// The use of `rye_execute` for items that are not tools.
#[derive(Debug)]
struct Inline {
    offered: Offered,
    /// The kinds of items for which the model sees it.
    kinds: Vec<Kind>,
}

/// A tool with its compiled input schema.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) entry: PaletteEntry,
    schema: ArgumentSchema,
}

impl Offered {
    fn new(entry: PaletteEntry) -> Result<Self, PaletteProblem> {
        match ArgumentSchema::new(&entry.spec.input_schema) {
            Ok(schema) => Ok(Self { entry, schema }),
            Err(error) => {
                let message = error.to_string();
                Err(PaletteProblem::Schema { id: entry.item_id, message })
            }
        }
    }

    /// Returns the needs of a call, or `None` if this is not an operation.
    pub(crate) fn need(
        &self,
        arguments: &Value,
        authority: &Authority,
    ) -> Option<Result<Need, ToolOutput>> {
        self.entry.needs.as_ref().map(|needs| needs.need(arguments, authority))
    }

    /// Returns the effect of a second call with these arguments.
    pub(crate) fn effect(&self, arguments: &Value) -> Effect {
        let own = self.entry.needs.as_ref().and_then(|needs| needs.effect(arguments));
        own.unwrap_or(self.entry.effect)
    }

    /// Returns a permitted call of this tool, or the reasons why the arguments do not fit its input schema.
    pub(crate) fn authorise(
        &self,
        permit: Permit,
        arguments: Value,
    ) -> Result<AuthorisedCall, Vec<String>> {
        match self.problems(&arguments) {
            problems if problems.is_empty() => {
                Ok(AuthorisedCall::new(Arc::clone(&self.entry.tool), permit, arguments))
            }
            problems => Err(problems),
        }
    }

    /// Returns the reasons why the arguments do not fit the input schema.
    pub(crate) fn problems(&self, arguments: &Value) -> Vec<String> {
        self.schema.problems(arguments).iter().map(SchemaProblem::text).collect()
    }
}

/// A set of tools that cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteError {
    problems: Vec<PaletteProblem>,
}

impl PaletteError {
    /// Returns every problem, at least one.
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

impl From<PaletteProblem> for PaletteError {
    fn from(problem: PaletteProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// One reason why tools cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaletteProblem {
    /// The id is reserved for a function of every thread.
    #[error("tool id `{id}` is reserved for returning outputs; choose another id")]
    Reserved {
        /// The id.
        id: String,
    },
    /// The input schema is unusable.
    #[error("input schema of tool `{id}` cannot be used: {message}")]
    Schema {
        /// The tool.
        id: String,
        /// The problem with the schema.
        message: String,
    },
    /// Two tools have the same id.
    #[error("tool id `{id}` stands for two tools; rename one or drop its alias")]
    TwoTools {
        /// The id.
        id: String,
    },
}

#[cfg(test)]
mod tests;
