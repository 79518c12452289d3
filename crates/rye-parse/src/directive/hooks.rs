//! `<hooks>`: actions and decisions when an event of a run meets a condition.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::{Action, Condition, ParseNameError, Spanned};

mod effect;
mod read;

pub use effect::HookEffect;
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

/// The events of a run to which a hook may react (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = ParseNameError)]
pub enum HookEvent {
    /// Before the `extends` chain is resolved.
    ResolveExtends,
    /// Before the first message.
    ThreadStarted,
    /// Before the first message of a continuation.
    ThreadContinued,
    /// After each turn.
    AfterStep,
    /// At a reached limit.
    Limit,
    /// After a failure.
    Error,
    /// At the return of the outputs by the model.
    DirectiveReturn,
    /// At the end of the run.
    AfterComplete,
    /// Near the end of the model's context window.
    ContextLimitReached,
}

impl HookEvent {
    /// All events, in the order of SPEC 10.3.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> ParseNameError {
    ParseNameError::new("event", text)
}
