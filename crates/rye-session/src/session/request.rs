//! The request for a run, and the services that the host program lends to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rye_caps::Authority;
use rye_prompt::ReturnStyle;
use rye_providers::{ApiKey, RandomBits};
use rye_resolve::ItemId;
use rye_sign::SigningKey;
use rye_sign::token::Token;
use rye_thread::{
    AddedItem, Approver, Cancel, Clock, Limits, Nanos, Observer, SpendLimit, ThreadId,
};
use serde_json::Value;

/// One run of one directive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunRequest {
    /// The directive.
    pub directive: ItemId,
    /// The thread that runs it; new for every run.
    pub thread: ThreadId,
    /// The given inputs by name.
    pub inputs: BTreeMap<String, Value>,
    /// The provider that answers.
    pub provider: ProviderChoice,
    /// A model of the provider's, instead of the one that the directive asks for.
    pub model: Option<String>,
    /// The way to ask for outputs, instead of the provider's own.
    pub returns: Option<ReturnStyle>,
    /// Limits, instead of the directive's.
    pub limits: LimitOptions,
    /// The conversation that it goes on with; its limits are then what that one left.
    pub continues: Option<Continuation>,
    /// The authority that bounds it, if another thread starts it.
    pub(crate) child_bounds: Option<Arc<ChildBounds>>,
    /// The items that calls added to the conversation of a thread that is resumed.
    pub(crate) added: Vec<AddedItem>,
    /// The one tool that the operator calls, which is then all that the thread declares.
    pub(crate) tool: Option<ItemId>,
}

impl RunRequest {
    /// A run without inputs, by the provider that the directive asks for.
    #[must_use]
    pub fn new(directive: ItemId, thread: ThreadId) -> Self {
        let provider = ProviderChoice::Directive;
        let inputs = BTreeMap::new();
        let limits = LimitOptions::default();
        let model = None;
        let returns = None;
        let continues = None;
        let child_bounds = None;
        let added = Vec::new();
        Self {
            directive,
            thread,
            inputs,
            provider,
            model,
            returns,
            limits,
            continues,
            child_bounds,
            added,
            tool: None,
        }
    }
}

/// The input of a thread that continues a stopped one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Continuation {
    /// The thread before it.
    pub thread: ThreadId,
    /// The root of that thread's tree, to which this one belongs, too.
    pub root: ThreadId,
    /// The limits that the predecessor left over.
    pub limits: Limits,
    /// The values that the continuation directive may take as inputs. It receives those that it
    /// declares.
    pub inputs: BTreeMap<String, Value>,
    /// The items that calls added to the conversation until then, which bound this thread as well.
    pub added: Vec<AddedItem>,
}

/// The authority and the tokens that bound a child.
#[derive(Debug)]
pub(crate) struct ChildBounds {
    /// The thread that starts it.
    pub(crate) parent: ThreadId,
    /// The root of that thread's tree.
    pub(crate) root: ThreadId,
    /// The authority of the parent.
    pub(crate) authority: Authority,
    /// The tokens from the first thread's down to the parent's.
    pub(crate) tokens: Vec<Token>,
    /// The most that the child may use.
    pub(crate) caps: Limits,
    /// The most money for a child without a limit of its own.
    pub(crate) share: Option<Nanos>,
}

/// A directive to prepare, and what the operator chooses instead of what it asks for: a [`RunRequest`] without a thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlanRequest {
    /// The directive.
    pub directive: ItemId,
    /// The values of its placeholders.
    pub inputs: Placing,
    /// The provider that answers.
    pub provider: ProviderChoice,
    /// A model of the provider's, instead of the one that the directive asks for.
    pub model: Option<String>,
    /// The way to ask for outputs, instead of the provider's own.
    pub returns: Option<ReturnStyle>,
    /// Limits, instead of the directive's.
    pub limits: LimitOptions,
    /// The authority that bounds it, if another thread starts it.
    pub(crate) child_bounds: Option<Arc<ChildBounds>>,
    /// The one tool that the operator calls, which is then all that the thread declares.
    pub(crate) tool: Option<ItemId>,
}

impl RunRequest {
    /// The root of the tree that the thread belongs to.
    pub(crate) fn root(&self) -> &ThreadId {
        let above = self.child_bounds.as_ref().map(|bounds| &bounds.root);
        above.or(self.continues.as_ref().map(|before| &before.root)).unwrap_or(&self.thread)
    }
}

impl PlanRequest {
    /// The directive as it is written, by the provider that it asks for.
    #[must_use]
    pub fn new(directive: ItemId) -> Self {
        let provider = ProviderChoice::Directive;
        let inputs = Placing::AsWritten;
        let limits = LimitOptions::default();
        let model = None;
        let returns = None;
        let child_bounds = None;
        let tool = None;
        Self { directive, inputs, provider, model, returns, limits, child_bounds, tool }
    }
}

impl From<&RunRequest> for PlanRequest {
    fn from(request: &RunRequest) -> Self {
        let RunRequest {
            directive, inputs, provider, model, returns, limits, child_bounds, ..
        } = request;
        let tool = request.tool.clone();
        Self {
            directive: directive.clone(),
            inputs: Placing::Values(inputs.clone()),
            provider: provider.clone(),
            model: model.clone(),
            returns: *returns,
            limits: *limits,
            child_bounds: child_bounds.clone(),
            tool,
        }
    }
}

/// The values of a directive's placeholders.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a placeholder is filled or it is not")]
pub enum Placing {
    /// The placeholders themselves, in the prompt and in a provider's system template, so that no input is needed.
    AsWritten,
    /// The given inputs by name, checked against the declared ones.
    Values(BTreeMap<String, Value>),
}

/// The provider that answers a run's requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderChoice {
    /// The provider that the directive's `<model>` names, which may be `steps`, else `anthropic_messages`.
    #[default]
    Directive,
    /// A provider's configuration by its name, such as `anthropic_messages`.
    Named(String),
    /// No model at all: the structured steps of the directive, in order (SPEC 10.13).
    Steps,
}

impl ProviderChoice {
    /// The choice that a person writes: `steps`, else the name of a provider's configuration.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        if name == STEPS { Self::Steps } else { Self::Named(name.to_owned()) }
    }
}

/// The name by which a directive and the operator choose its steps in place of a model.
pub(crate) const STEPS: &str = "steps";

/// Limits that the operator sets for one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitOptions {
    /// Requests to the model.
    pub turns: Option<u64>,
    /// Tokens of every sort.
    pub tokens: Option<u64>,
    /// Money.
    pub spend: Option<SpendLimit>,
    /// Seconds.
    pub duration_seconds: Option<u64>,
    /// Threads that the thread may start.
    pub spawns: Option<u64>,
    /// Levels of threads below the thread.
    pub depth: Option<u64>,
}

/// The source of the providers' keys.
pub trait Secrets: Send + Sync {
    /// The key that the environment holds under `name`.
    fn api_key(&self, name: &str) -> Option<ApiKey>;
}

/// The services of the host program that a run uses: time, random bits, secrets and observation.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "a run that lacks one of these must not compile")]
pub struct Host<'a> {
    /// The source of the time.
    pub clock: &'a dyn Clock,
    /// The source of keys.
    pub secrets: &'a dyn Secrets,
    /// The observer of events.
    pub observer: &'a dyn Observer,
    /// The approver, which is asked before a call that the configuration marks.
    pub approver: &'a dyn Approver,
    /// The signal that stops the run.
    pub cancel: &'a Cancel,
    /// Bits that spread the waits between attempts.
    pub random: RandomBits,
    /// The key that signs the record; without one, each thread signs with a key of its own.
    pub signing_key: Option<Arc<SigningKey>>,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}
