//! Hooks: effects and actions at the events of a thread (SPEC 10.3).

mod action;

use std::fmt;
use std::sync::Arc;

use rye_types::{HookEffect, HookEvent, HookLayer};
use serde_json::{Map, Value};

pub use self::action::{ActionTarget, HookAction};
use crate::Palette;

/// The condition of a hook.
///
/// The answer depends on the event's data alone, so that a resumed or replayed thread gets the same answer.
pub trait HookCondition: Send + Sync {
    /// Returns `true` if the condition holds for the data.
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
    /// The place that declares it, for people and for the record.
    pub declared_by: String,
    /// The event at which it is considered.
    pub event: HookEvent,
    /// Its layer, which orders the hooks of an event.
    pub layer: HookLayer,
    /// Its place within the layer, lowest first.
    pub order: i64,
    /// Its condition. Without one the hook always acts.
    pub condition: Option<Arc<dyn HookCondition>>,
    /// Its decision about the thread.
    pub effect: Option<HookEffect>,
    /// Its actions, which run in order before the decision.
    pub actions: Vec<HookAction>,
}

impl Hook {
    /// Creates a hook that always acts, without an action or a decision.
    #[must_use]
    pub fn new(id: &str, declared_by: &str, event: HookEvent, layer: HookLayer) -> Self {
        let id = id.to_owned();
        let declared_by = declared_by.to_owned();
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

/// The hooks of one thread in order, with the texts that they may add to the conversation.
///
/// No action of a hook is an event, so hooks never trigger each other. Each hook is considered once at each event. The
/// limit on turns bounds the number of events, because a retry counts as a turn.
#[derive(Debug)]
pub struct Hooks {
    hooks: Vec<Hook>,
    texts: Palette,
    about: Map<String, Value>,
    is_continuation: bool,
}

impl Hooks {
    /// Creates an empty list of hooks.
    #[must_use]
    pub fn none() -> Self {
        let texts = Palette::new(Vec::new()).expect("because no tool is no problem");
        Self::new(Vec::new(), texts, Map::new())
    }

    /// Sorts the hooks by layer and order. Equal hooks stay in the given order.
    ///
    /// `texts` are the items of [`ActionTarget::Text`], which are not offered to a model. `about` is added to the data
    /// of every event, for example the directive and its inputs.
    #[must_use]
    pub fn new(mut hooks: Vec<Hook>, texts: Palette, about: Map<String, Value>) -> Self {
        hooks.sort_by_key(|hook| (hook.layer, hook.order));
        Self { hooks, texts, about, is_continuation: false }
    }

    /// Marks the thread as a successor: it begins with [`HookEvent::ThreadContinued`] instead of
    /// [`HookEvent::ThreadStarted`].
    #[must_use]
    pub fn continuing(mut self) -> Self {
        self.is_continuation = true;
        self
    }

    /// Returns all hooks in order.
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

    /// Returns the hooks of an event whose conditions hold for its data, in order.
    pub(crate) fn matching(&self, event: HookEvent, data: &Value) -> Vec<&Hook> {
        self.hooks.iter().filter(|hook| hook.event == event && hook.matches(data)).collect()
    }

    pub(crate) fn listens(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }
}
