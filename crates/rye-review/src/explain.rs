//! Explanations: where each part of a directive comes from, as data (SPEC 7.4).

mod executed;
mod gather;
mod item;
mod json;
mod starts;
mod text;

use rye_caps::risk::Finding;
use rye_caps::{Grant, Invocation, LayerName};
use rye_project::{LimitSource, PlanRequest, PrepareError, Project};
use rye_prompt::Suppression;
use rye_resolve::ItemId;
use rye_sign::Digest;
use rye_types::Position;

pub use self::item::{ItemFacts, Signer};
pub use self::starts::{LostFacts, StartFacts};

/// The parts of a directive that decide how a thread of it begins, each with its source.
///
/// Its `Display` is the text that `rye explain` prints. [`to_json`](Self::to_json) has the same as data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explained {
    /// The directive.
    pub id: ItemId,
    /// The directives of its `extends` chain, leaf first.
    pub chain: Vec<ItemFacts>,
    /// The text around the prompt, in the order in which a model reads it.
    pub context: Vec<ContextFacts>,
    /// Knowledge that the chain keeps out.
    pub suppressed: Vec<Suppression>,
    /// Optional knowledge that was not found.
    pub skipped: Vec<SkippedFacts>,
    /// The layers that have to allow a call, outermost first: the operator, then keys with a limit, then the
    /// declaring directive. The capability of returning outputs is not listed. See
    /// [`outputs`](Self::outputs).
    pub layers: Vec<LayerFacts>,
    /// The directive that declares the permissions; without one, nothing is allowed.
    pub declared_by: Option<ItemId>,
    /// A sentence for each finding on the risk of the declared permissions (SPEC 9.6).
    pub risks: Vec<String>,
    /// The same findings as data.
    pub findings: Vec<Finding>,
    /// The calls of all tools that the permissions cover, with the functions that they stand for.
    pub invocations: Vec<Invocation>,
    /// The capabilities whose calls wait for a decision.
    pub asked: Grant,
    /// The tools that a model is offered, sorted by name.
    pub tools: Vec<ToolFacts>,
    /// The reason why tools that are granted are not offered.
    pub withheld: Vec<String>,
    /// The directives that a thread may start; `None` unless [`with_starts`](Self::with_starts) looked for them.
    pub starts: Option<Vec<StartFacts>>,
    /// The limits of a thread.
    pub limits: Vec<LimitFacts>,
    /// The model, or the reason why there is none, as a sentence.
    pub model: Result<ModelFacts, String>,
    /// The declared inputs, in document order.
    pub inputs: Vec<PortFacts>,
    /// The declared outputs, in document order; declaring one grants returning them.
    pub outputs: Vec<PortFacts>,
    /// Hooks of the hooks files, in turn, and then of the chain, root first, with what each decides.
    pub hooks: Vec<HookFacts>,
    /// The items that may be put before the model later. Hooks do that, and so does the directive that says
    /// how to go on in a new thread.
    pub later: Vec<ItemFacts>,
    /// The files of configuration that decide on trust, risk, limits and hooks, nearest space first for each.
    pub configs: Vec<ItemFacts>,
    /// The system message, with placeholders as written.
    pub system: Option<String>,
    /// The first user message, with placeholders as written.
    pub first_user_message: String,
    /// The SHA-256 over system message, a zero byte and first user message.
    pub digest: Digest,
    /// A sentence for each item that is a draft of the operator's, or unsigned.
    pub drafts: Vec<String>,
    /// Warnings for the operator, such as that no key signed an item.
    pub warnings: Vec<String>,
}

/// One entry of the context.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ContextFacts {
    /// Its position.
    pub position: Position,
    /// The directive that asked for it.
    pub asked_by: String,
    /// The knowledge item; `None` for text that stands in the directive itself.
    pub item: Option<ItemFacts>,
    /// The number of its bytes that a model reads.
    pub bytes: usize,
    /// The SHA-256 over these bytes.
    pub digest: Digest,
}

/// Optional knowledge that no space has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFacts {
    /// Its id.
    pub id: String,
    /// The position that it would have.
    pub position: Position,
    /// The directive that asked for it.
    pub asked_by: String,
}

/// One layer of the authority.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerFacts {
    /// The name of the layer.
    pub name: LayerName,
    /// The grant of the layer.
    pub grant: Grant,
}

/// A tool that a model is offered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolFacts {
    /// The name that the model sees.
    pub name: String,
    /// The SHA-256 over what the model is shown of it: name, description and schemas as canonical JSON.
    pub spec: Digest,
    /// The SHA-256 over the input schema as canonical JSON.
    pub input_schema: Digest,
    /// The SHA-256 over what the lock accepts of its MCP server; `None` for other tools.
    pub accepted: Option<Digest>,
    /// Its file; `None` for what every thread has of its own, `rye_execute` and the return tool.
    pub item: Option<ItemFacts>,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitFacts {
    /// Its name in `<limits>`.
    pub name: &'static str,
    /// Its value, as people write it: `10`, `0.50 USD`, `unlimited`.
    pub value: String,
    /// The source of the value.
    pub set_by: LimitSource,
}

/// A model and its provider.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The provider's name.
    pub provider: String,
    /// The provider's own name of the model; `None` for the steps, which need none.
    pub model: Option<String>,
    /// The file of the provider's configuration; `None` for the steps.
    pub item: Option<ItemFacts>,
    /// The source of the choice.
    pub set_by: ModelSource,
}

/// The source of the choice of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what tells of a model has to name each source")]
pub enum ModelSource {
    /// The program and the provider's configuration, when nothing else does.
    Default,
    /// A directive of the chain, in its `<model>` (SPEC D19).
    Directive(ItemId),
    /// The operator, for this one time.
    Options,
}

/// A declared input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortFacts {
    /// Its name.
    pub name: String,
    /// Its type, such as `string`; empty for outputs of the dictionary form, which have none.
    pub value_type: String,
    /// `true` if a caller has to give it.
    pub required: bool,
    /// The value that it has when it is not given, as written.
    pub default: Option<String>,
    /// The only values that it may have; empty when there is no such list.
    pub choices: Vec<String>,
    /// Its purpose.
    pub description: String,
}

/// A declared hook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookFacts {
    /// Its id.
    pub id: String,
    /// The event that it waits for.
    pub event: &'static str,
    /// Its effect on the thread.
    pub effect: Option<&'static str>,
    /// The directive or the file that declares it, such as ``directive `notes/index` `` or ``config
    /// `agent/hooks` of the user space``.
    pub declared_by: String,
    /// The SHA-256 over its event, condition, effect and actions, and what a hooks file says beside them.
    pub digest: Digest,
}

impl Explained {
    /// Explains a directive without running it. A reason that keeps it from running, such as its risk, is a
    /// part of the result and is no error.
    ///
    /// # Errors
    ///
    /// The function fails if an item of the directive cannot be found, verified or read.
    pub fn of(project: &Project, request: &PlanRequest) -> Result<Self, PrepareError> {
        gather::explain(project, request)
    }

    /// Explains a directive as [`of`](Self::of) does, with the directives that a thread of it may start.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    pub fn with_starts(project: &Project, request: &PlanRequest) -> Result<Self, PrepareError> {
        let mut explained = Self::of(project, request)?;
        explained.starts = Some(StartFacts::list(project, request)?);
        Ok(explained)
    }

    /// Every file that it is made of, each once: chain, knowledge, texts that are added later, tools and the provider's configuration.
    #[must_use]
    pub fn items(&self) -> Vec<&ItemFacts> {
        let knowledge = self.context.iter().filter_map(|entry| entry.item.as_ref());
        let tools = self.tools.iter().filter_map(|tool| tool.item.as_ref());
        let provider = self.model.iter().filter_map(|model| model.item.as_ref());
        let mut items: Vec<&ItemFacts> = Vec::new();
        let later = self.later.iter();
        for item in self.chain.iter().chain(knowledge).chain(later).chain(tools).chain(provider) {
            if !items.iter().any(|other| (other.kind, &other.id) == (item.kind, &item.id)) {
                items.push(item);
            }
        }
        items
    }
}
