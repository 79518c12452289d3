//! The request for a plan.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rye_caps::Authority;
use rye_resolve::ItemId;
use rye_sign::token::Token;
use rye_thread::ThreadId;
use rye_types::{LimitSet, Nanos, ReturnStyle, SpendLimit};
use serde_json::Value;

use super::tree_access::{NotDriven, TreeAccess};

/// The authority and the tokens that bound a child.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a child that lacks one of these must not compile")]
pub struct ChildBounds {
    /// The thread that starts it.
    pub parent: ThreadId,
    /// The root of that thread's tree.
    pub root: ThreadId,
    /// The authority of the parent.
    pub authority: Authority,
    /// The tokens from the first thread's down to the parent's.
    pub tokens: Vec<Token>,
    /// The most that the child may use.
    pub caps: LimitSet,
    /// The most money for a child without a limit of its own.
    pub share: Option<Nanos>,
}

/// A directive to prepare, and what the operator chooses instead of what it asks for: a run without its thread.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a run that leaves out the bounds of a child must not compile"
)]
pub struct PlanRequest {
    /// The directive.
    pub directive: ItemId,
    /// The values of its placeholders.
    pub inputs: Placing,
    /// The provider that answers.
    pub provider: ProviderChoice,
    /// The provider where the directive names none, instead of the one that the configuration names.
    pub default_provider: Option<String>,
    /// A model of the provider's, instead of the one that the directive asks for.
    pub model: Option<String>,
    /// The way to ask for outputs, instead of the provider's own.
    pub returns: Option<ReturnStyle>,
    /// Limits, instead of the directive's.
    pub limits: LimitOptions,
    /// The authority that bounds it, if another thread starts it.
    pub child_bounds: Option<Arc<ChildBounds>>,
    /// The one tool that the operator calls, which is then all that the thread declares.
    pub tool: Option<ItemId>,
    /// The access of the tools to the tree of the thread; by default, no thread is driven.
    pub tree: Arc<dyn TreeAccess>,
    /// The settings of a thread that is resumed, which it keeps (SPEC D19).
    pub recorded: Option<RecordedSettings>,
}

/// The settings of a thread that its record holds. A thread that is resumed keeps them, whatever its directive or the
/// configuration would choose by now (SPEC D19).
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a thread that loses one of these must not compile")]
pub struct RecordedSettings {
    /// The name of the provider that the thread began with.
    pub provider: String,
    /// The model that the thread began with.
    pub model: String,
    /// The model that took over from the first one, if it did.
    pub fallback: Option<String>,
    /// The limits, as the operator raised them.
    pub limits: LimitSet,
}

impl PlanRequest {
    /// The directive as it is written, by the provider that it asks for.
    #[must_use]
    pub fn new(directive: ItemId) -> Self {
        let provider = ProviderChoice::Directive;
        let inputs = Placing::AsWritten;
        let limits = LimitOptions::default();
        let default_provider = None;
        let model = None;
        let returns = None;
        let child_bounds = None;
        let tool = None;
        let tree = Arc::new(NotDriven);
        let recorded = None;
        Self {
            directive,
            inputs,
            provider,
            default_provider,
            model,
            returns,
            limits,
            child_bounds,
            tool,
            tree,
            recorded,
        }
    }

    /// The provider of the thread, which a thread that is resumed keeps.
    pub(crate) fn provider(&self) -> Cow<'_, ProviderChoice> {
        match &self.recorded {
            Some(recorded) => Cow::Owned(ProviderChoice::from_name(&recorded.provider)),
            None => Cow::Borrowed(&self.provider),
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
    /// The provider that the `<model>` of the directive or of its nearest base names, which may be `steps`, else the default of
    /// `config/agent/providers.yaml`, else `anthropic_messages`.
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

    /// Returns the name that [`from_name`](Self::from_name) takes; `None` if the directive decides.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Directive => None,
            Self::Named(name) => Some(name),
            Self::Steps => Some(STEPS),
        }
    }
}

/// The name by which a directive and the operator choose its steps in place of a model.
pub(crate) const STEPS: &str = "steps";

/// Limits that the operator sets for one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a record that leaves out a limit must not compile")]
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
