//! The request for a run, and the services that the host program lends to it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rye_project::{
    ChildBounds, LimitOptions, NotDriven, Placing, PlanRequest, ProviderChoice, RecordedSettings,
};
use rye_providers::{ApiKey, RandomBits};
use rye_resolve::ItemId;
use rye_sign::SigningKey;
use rye_thread::{AddedItem, Approver, Cancel, Clock, Observer, ThreadId};
use rye_types::{LimitSet, ReturnStyle};
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
    /// The provider where the directive names none, instead of the one that the configuration names now. A thread that is
    /// resumed keeps the one that it began with (SPEC D19).
    pub(crate) default_provider: Option<String>,
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
    /// The settings that a thread that is resumed keeps.
    pub(crate) recorded: Option<RecordedSettings>,
}

impl RunRequest {
    /// A run without inputs, by the provider that the directive asks for.
    #[must_use]
    pub fn new(directive: ItemId, thread: ThreadId) -> Self {
        let provider = ProviderChoice::Directive;
        let inputs = BTreeMap::new();
        let limits = LimitOptions::default();
        let default_provider = None;
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
            default_provider,
            model,
            returns,
            limits,
            continues,
            child_bounds,
            added,
            tool: None,
            recorded: None,
        }
    }
}

impl RunRequest {
    /// The root of the tree that the thread belongs to.
    pub(crate) fn root(&self) -> &ThreadId {
        let above = self.child_bounds.as_ref().map(|bounds| &bounds.root);
        above.or(self.continues.as_ref().map(|before| &before.root)).unwrap_or(&self.thread)
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
    pub limits: LimitSet,
    /// The values that the continuation directive may take as inputs. It receives those that it
    /// declares.
    pub inputs: BTreeMap<String, Value>,
    /// The items that calls added to the conversation until then, which bound this thread as well.
    pub added: Vec<AddedItem>,
}

impl From<&RunRequest> for PlanRequest {
    fn from(request: &RunRequest) -> Self {
        Self {
            directive: request.directive.clone(),
            inputs: Placing::Values(request.inputs.clone()),
            provider: request.provider.clone(),
            default_provider: request.default_provider.clone(),
            model: request.model.clone(),
            returns: request.returns,
            limits: request.limits,
            child_bounds: request.child_bounds.clone(),
            tool: request.tool.clone(),
            tree: Arc::new(NotDriven::default()),
            recorded: request.recorded.clone(),
        }
    }
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
