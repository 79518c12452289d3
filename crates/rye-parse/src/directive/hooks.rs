//! `<hooks>`: actions and decisions when an event of a run meets a condition.

use rye_types::{HookEffect, HookEvent};

use crate::{Action, Condition, Spanned};

mod read;

pub(crate) use read::effect;
pub(super) use read::read;

/// One hook of a directive or a hooks file (SPEC 3.7, 10.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// The name of the hook. In an `extends` chain, a hook nearer the leaf replaces an inherited hook with the same
    /// name.
    pub id: Spanned<String>,
    /// The event of the hook.
    pub event: Spanned<HookEvent>,
    /// The condition of the hook; several conditions in a row become one `All`.
    pub condition: Option<Spanned<Condition>>,
    /// The decision of the hook about the thread; one of [`HookEvent::effects`].
    pub effect: Option<Spanned<HookEffect>>,
    /// The actions in order. Only a hook with an effect may have none.
    pub actions: Vec<Spanned<Action>>,
}
