//! What happens at the events of a thread, beside what its model does (SPEC 10.3).

mod action;
mod words;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::action::{ActionTarget, HookAction};
pub use self::words::{HookEffect, HookEvent, HookLayer, HookWordError};
use crate::Palette;

/// Whether a hook's condition holds of an event's data.
///
/// The answer depends on the data alone, so that a thread that goes on, or is replayed, comes to the same one.
pub trait HookCondition: Send + Sync {
    /// Whether it holds.
    fn holds(&self, data: &Value) -> bool;
}

impl<F: Fn(&Value) -> bool + Send + Sync> HookCondition for F {
    fn holds(&self, data: &Value) -> bool {
        self(data)
    }
}

/// One hook.
#[derive(Clone)]
#[non_exhaustive]
pub struct Hook {
    /// Its name.
    pub id: String,
    /// What declares it, for people and for the record.
    pub declared_by: String,
    /// When it is considered.
    pub event: HookEvent,
    /// When it has its turn among all hooks of its event.
    pub layer: HookLayer,
    /// When it has its turn in its layer, lowest first.
    pub order: i64,
    /// What must hold; nothing, for one that always acts.
    pub condition: Option<Arc<dyn HookCondition>>,
    /// What it decides about the thread.
    pub effect: Option<HookEffect>,
    /// What it does, in order, before it decides.
    pub actions: Vec<HookAction>,
}

impl Hook {
    /// A hook that always acts, and neither does nor decides anything yet.
    #[must_use]
    pub fn new(id: &str, declared_by: &str, event: HookEvent, layer: HookLayer) -> Self {
        let (id, declared_by) = (id.to_owned(), declared_by.to_owned());
        Self {
            id,
            declared_by,
            event,
            layer,
            order: 0,
            condition: None,
            effect: None,
            actions: Vec::new(),
        }
    }

    pub(crate) fn matches(&self, data: &Value) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(data))
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("id", &self.id)
            .field("event", &self.event)
            .field("layer", &self.layer)
            .field("order", &self.order)
            .field("effect", &self.effect)
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}

/// The hooks of one thread, in turn, with the texts that they may put before its model.
///
/// Hooks see what a thread does and not what hooks do: no action of a hook is an event, so that hooks never set each
/// other off. Each is considered once at each event, and the events are bounded by the limit on turns, towards which a
/// retry counts as well.
#[derive(Debug)]
pub struct Hooks {
    hooks: Vec<Hook>,
    texts: Palette,
    about: Map<String, Value>,
    is_continuation: bool,
}

impl Hooks {
    /// No hooks at all.
    #[must_use]
    pub fn none() -> Self {
        let texts = Palette::new(Vec::new()).expect("because no tool is no problem");
        Self::new(Vec::new(), texts, Map::new())
    }

    /// Sorts the hooks by layer and order; equal ones stay as given.
    ///
    /// `texts` are the items of [`ActionTarget::Text`], which no model is shown. `about` is what every event's data says
    /// beside what the thread knows of itself, such as the directive and its inputs.
    #[must_use]
    pub fn new(mut hooks: Vec<Hook>, texts: Palette, about: Map<String, Value>) -> Self {
        hooks.sort_by_key(|hook| (hook.layer, hook.order));
        Self { hooks, texts, about, is_continuation: false }
    }

    /// The same for a thread that goes on where another one left off: it begins with
    /// [`HookEvent::ThreadContinued`] instead of [`HookEvent::ThreadStarted`].
    #[must_use]
    pub fn continuing(mut self) -> Self {
        self.is_continuation = true;
        self
    }

    /// All of them, in turn.
    #[must_use]
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    pub(crate) fn begins_with(&self) -> HookEvent {
        if self.is_continuation { HookEvent::ThreadContinued } else { HookEvent::ThreadStarted }
    }

    pub(crate) const fn texts(&self) -> &Palette {
        &self.texts
    }

    pub(crate) const fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    /// Those of an event that match its data, in turn.
    pub(crate) fn matching(&self, event: HookEvent, data: &Value) -> Vec<&Hook> {
        self.hooks.iter().filter(|hook| hook.event == event && hook.matches(data)).collect()
    }

    pub(crate) fn listens(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }
}
