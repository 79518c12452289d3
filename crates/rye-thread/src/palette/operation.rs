//! The operations on items that a thread may offer beside its tools (SPEC 12.4).

use std::fmt;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Permit, Primary};
use rye_types::Effect;
use serde_json::Value;

use super::{Offered, Palette, PaletteEntry, PaletteError, PaletteProblem};
use crate::{Refusal, ToolOutput};

/// The authority that calls of an operation need, depending on their arguments.
#[async_trait]
pub trait Needs: Send + Sync {
    /// Returns the need of a call with these arguments under `authority`, the current authority of the thread.
    ///
    /// # Errors
    ///
    /// The output for the model if the arguments do not say what the call is for.
    fn need(&self, arguments: &Value, authority: &Authority) -> Result<Need, ToolOutput>;

    /// Returns the arguments that the operator approves and that an approved call runs with. `None` means the call's
    /// own.
    ///
    /// Other threads of the program do not wait for this future. Slow work belongs on a thread for blocking work.
    ///
    /// # Errors
    ///
    /// The output for the model if the call would be refused even with an approval. The operator is not asked then.
    async fn proposal(
        &self,
        arguments: &Value,
        authority: &Authority,
    ) -> Result<Option<Value>, ToolOutput> {
        let _unused = (arguments, authority);
        Ok(None)
    }

    /// Returns the effect of a second call with these arguments, if it differs from the entry's effect.
    fn effect(&self, arguments: &Value) -> Option<Effect> {
        let _unused = arguments;
        None
    }
}

/// The need of one call of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// This capability.
    Exactly(Capability),
    /// The operation's own capability, and all of these.
    All(Capability, Vec<Capability>),
    /// The operation on any item of one of these kinds (SPEC 9.3).
    AnyOf(Primary, Vec<Kind>),
}

impl Need {
    /// Returns the permit, if the authority allows the need.
    pub(crate) fn permit(&self, authority: &Authority) -> Result<Permit, Refusal> {
        match self {
            Self::Exactly(capability) => authority
                .permit(&capability.clone().into())
                .map_err(|denied| Refusal::of_authority(&denied)),
            Self::All(own, others) => {
                let permit = |capability: &Capability| authority.permit(&capability.clone().into());
                let all = permit(own).and_then(|own| {
                    let mut others = others.iter().map(permit);
                    others.try_for_each(|permit| permit.map(drop)).map(|()| own)
                });
                all.map_err(|denied| Refusal::of_authority(&denied))
            }
            Self::AnyOf(primary, kinds) => {
                let permit = kinds.iter().find_map(|kind| authority.permit_some(*primary, *kind));
                permit.ok_or_else(|| self.refusal(authority))
            }
        }
    }

    /// Returns `true` if the need may use a capability in `asked`.
    pub(crate) fn is_asked(&self, asked: &Grant) -> bool {
        match self {
            Self::Exactly(capability) => asked.allows(capability),
            Self::All(own, others) => {
                asked.allows(own) || others.iter().any(|other| asked.allows(other))
            }
            Self::AnyOf(primary, kinds) => {
                kinds.iter().any(|kind| asked.allows_some(*primary, *kind))
            }
        }
    }

    /// Returns the capabilities as text. For any item of some kinds, returns the pattern of all of them.
    pub(crate) fn capabilities(&self) -> Vec<String> {
        match self {
            Self::All(own, others) => {
                std::iter::once(own).chain(others).map(ToString::to_string).collect()
            }
            Self::AnyOf(..) | Self::Exactly(_) => vec![self.to_string()],
        }
    }

    fn refusal(&self, authority: &Authority) -> Refusal {
        let closed = match self {
            Self::All(..) | Self::Exactly(_) => None,
            Self::AnyOf(primary, kinds) => {
                kinds.iter().find_map(|kind| authority.closed_by(*primary, *kind))
            }
        };
        let layer = closed.map_or("the layers together".to_owned(), |it| it.name().to_string());
        let message = format!("`{self}` is not allowed on any item by {layer}");
        let own = self.to_string();
        Refusal::new(&own, &layer, Some(&own), &message)
    }
}

/// Writes a capability, or the pattern of all possible ones.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(capability, _) | Self::Exactly(capability) => capability.fmt(f),
            Self::AnyOf(primary, kinds) => match kinds.as_slice() {
                [kind] => write!(f, "rye.{primary}.{kind}.*"),
                _ => write!(f, "rye.{primary}.*"),
            },
        }
    }
}

impl Palette {
    /// Adds operations on items.
    ///
    /// The model sees those for which `is_open` returns `true`. The authority refuses a call of another one, with the
    /// reason.
    ///
    /// # Errors
    ///
    /// [`PaletteError`] if the name of an entry is not reserved for operations, or the schema of its arguments is
    /// unusable.
    pub fn with_operations(
        mut self,
        entries: Vec<PaletteEntry>,
        is_open: impl Fn(&PaletteEntry) -> bool,
    ) -> Result<Self, PaletteError> {
        let mut problems = Vec::new();
        for mut entry in entries {
            let id = entry.item_id.clone();
            entry.spec.name.clone_from(&id);
            if !OPERATIONS.contains(&id.as_str()) || self.operations.contains_key(&id) {
                problems.push(PaletteProblem::TwoTools { id });
                continue;
            }
            if !is_open(&entry) {
                self.closed.insert(id.clone());
            }
            match Offered::new(entry) {
                Ok(offered) => drop(self.operations.insert(id, offered)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(PaletteError { problems }) }
    }
}

/// The names that are reserved for operations on items.
pub(super) const OPERATIONS: [&str; 4] = ["rye_fetch", "rye_load", "rye_search", "rye_sign"];
