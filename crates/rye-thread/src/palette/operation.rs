//! The operations on items that a thread may be offered beside its tools (SPEC 12.4).

use std::fmt;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Permit, Primary};
use serde_json::Value;

use super::{Offered, Palette, PaletteEntry, PaletteError, PaletteProblem};
use crate::{Effect, Refusal, ToolOutput};

/// What calls of an operation need of the authority, which depends on their arguments.
#[async_trait]
pub trait Needs: Send + Sync {
    /// What a call with these arguments needs of `authority`, which is that of the thread by now.
    ///
    /// # Errors
    ///
    /// What the model is told of arguments that do not say what the call is for.
    fn need(&self, arguments: &Value, authority: &Authority) -> Result<Need, ToolOutput>;

    /// The arguments as the operator is asked about them, with which an approved call then runs; `None` for those of the call.
    ///
    /// Other threads of the program wait for nothing here, so that work which takes its time belongs on a thread for blocking work.
    ///
    /// # Errors
    ///
    /// What the model is told of a call that would be refused even with an approval, about which nobody is asked.
    async fn proposal(
        &self,
        arguments: &Value,
        authority: &Authority,
    ) -> Result<Option<Value>, ToolOutput> {
        let _as_the_call_has_them = (arguments, authority);
        Ok(None)
    }

    /// What a second call with these arguments would do, where that is not what the entry says.
    fn effect(&self, arguments: &Value) -> Option<Effect> {
        let _as_the_entry_says = arguments;
        None
    }
}

/// What one call of an operation needs.
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
    /// The proof that the authority allows it.
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

    /// Whether `asked` may be meant by it.
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

    /// The capabilities, as text; of any item of some kinds, the pattern of all of them.
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
        let pattern = Some(self.to_string());
        Refusal { capability: self.to_string(), layer, pattern, message }
    }
}

/// A capability, or the pattern of all that may be meant.
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
    /// The same palette with operations on items. A model is shown those that `is_open` holds for; a call of another one is
    /// refused by the authority, which says why.
    ///
    /// # Errors
    ///
    /// When the name of one is not kept for it, or the schema of its arguments cannot be used.
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
            match jsonschema::options().offline().build(&entry.spec.input_schema) {
                Ok(validator) => drop(self.operations.insert(id, Offered { entry, validator })),
                Err(error) => {
                    problems.push(PaletteProblem::Schema { id, message: error.to_string() });
                }
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(PaletteError { problems }) }
    }
}

/// The names that are kept for operations on items.
pub(super) const OPERATIONS: [&str; 4] = ["rye_fetch", "rye_load", "rye_search", "rye_sign"];
