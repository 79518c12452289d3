//! What a directive may do, what it needs, and the smaller block that would do (SPEC 9.4, 9.6, 9.7).

mod block;
mod json;
mod layers;
mod need;
mod text;
mod tighten;

use rye_caps::risk::{Acknowledgement, Classification, Finding};
use rye_caps::{Authority, Capability, Denied, Grant, Invocation, LayerName, Pattern, Permit};
use rye_resolve::ItemId;
use rye_thread::ThreadId;

pub(crate) use self::block::element;
pub use self::need::{Need, NeedSource};
pub(crate) use self::need::{Needs, action_needs, hook_needs, needs_of};
pub(crate) use self::tighten::uses_as_written;
pub use self::tighten::{NothingToJudge, Tightened, Use};
use crate::session::{PlanRequest, PrepareError, canonical};
use crate::{Rye, ThreadReading};

/// What a directive may do as a root thread: the authority that a run would have, with who grants what and what of it is
/// used.
///
/// Its `Display` is the text that `rye caps explain` prints; [`to_json`](Self::to_json) has the same as data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Privileges {
    /// The directive.
    pub id: ItemId,
    /// The directive of its chain that declares the permissions; without one, nothing is allowed.
    pub declared_by: Option<ItemId>,
    /// Who has to allow a call, outermost first.
    pub layers: Vec<LayerPrivileges>,
    /// What of the declared permissions is used, in the order of their patterns.
    pub uses: Vec<(Pattern, Use)>,
    /// The declared permissions that another one of them covers, each with that one.
    pub redundant: Vec<(Pattern, Pattern)>,
    /// What the directive's structured steps, its hooks and the given threads need.
    pub needs: Vec<Need>,
    /// What cannot be judged by steps, each as a sentence.
    pub unjudged: Vec<String>,
    /// Why the directive may not run at all, as a sentence.
    pub refusal: Option<String>,
    authority: Authority,
    /// The calls of the tools that the authority covers by their ids.
    invocations: Vec<Invocation>,
    /// The most that the signer of each of these tools may grant.
    signers: Vec<Authority>,
    declared: Grant,
    acknowledged: Vec<Acknowledgement>,
    findings_of: FindingsOf,
}

/// One layer of the authority, with how dangerous each of its patterns is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LayerPrivileges {
    /// Whose layer it is.
    pub name: LayerName,
    /// The items that bring the layer in because its key signed them, such as ``directive `a/b` ``; empty for others.
    pub signed: Vec<String>,
    /// What it allows; nothing where it is empty.
    pub grants: Vec<PatternPrivileges>,
}

/// One pattern that a layer allows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternPrivileges {
    /// The pattern.
    pub pattern: Pattern,
    /// How dangerous it is, and what of the risk table says so.
    pub classification: Classification,
    /// What follows from that; only where the directive declares it.
    pub finding: Option<Finding>,
    /// Whether it is there because outputs are declared, and is nobody's choice.
    pub returns_outputs: bool,
}

/// The risk table, by what is asked of it.
#[derive(Debug, Clone)]
struct FindingsOf(rye_caps::risk::RiskTable);

impl Privileges {
    /// The authority itself, which answers for a capability as a run would.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The permit that a call would get, or the refusal. A tool is asked for with the functions that it stands for, and by
    /// its own id where `capability` names an alias.
    ///
    /// # Errors
    ///
    /// [`Denied`] with the layers that refuse.
    pub fn permit(&self, capability: &Capability) -> Result<Permit, Denied> {
        let capability = canonical_capability(capability);
        let mut known = self.invocations.iter().zip(&self.signers);
        match known.find(|(invocation, _)| *invocation.item() == capability) {
            Some((invocation, signer)) => self
                .authority
                .permit(invocation)
                .and_then(|permit| signer.permit(invocation).map(|_| permit)),
            None => self.authority.permit(&capability.into()),
        }
    }

    /// What the chain declares.
    #[must_use]
    pub fn declared(&self) -> &Grant {
        &self.declared
    }

    /// The needs that the declared permissions do not cover, and a run would be denied.
    pub fn denied_needs(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| tighten::is_denied(&self.declared, need))
    }
}

impl Rye {
    /// Finds out what a directive may do and what it needs: by its own structured steps, by the hooks that act in its threads, and by what `threads` that ran it
    /// really called.
    ///
    /// # Errors
    ///
    /// When an item of the directive cannot be found, verified or read, and when a thread ran another directive.
    pub fn privileges(
        &self,
        directive: &ItemId,
        threads: &[ThreadReading],
    ) -> Result<Privileges, PrivilegesError> {
        let other = threads.iter().find(|reading| reading.record.directive != directive.as_str());
        if let Some(ThreadReading { record, .. }) = other {
            return Err(PrivilegesError::OtherDirective {
                thread: record.thread.clone(),
                ran: record.directive.clone(),
                id: directive.clone(),
            });
        }
        Ok(layers::privileges(self, &PlanRequest::new(directive.clone()), threads)?)
    }
}

fn canonical_capability(capability: &Capability) -> Capability {
    let mut meant = canonical(Pattern::exactly(capability)).into_iter();
    meant.next().and_then(|meant| meant.as_str().parse().ok()).unwrap_or_else(|| capability.clone())
}

/// Why nobody can say what a directive may do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivilegesError {
    /// A thread tells nothing of this directive.
    #[error(
        "thread `{thread}` ran `{ran}`, not `{id}`; `rye threads list --json` says which ran what"
    )]
    OtherDirective {
        /// The thread.
        thread: ThreadId,
        /// The directive that it ran.
        ran: String,
        /// The directive that was asked about.
        id: ItemId,
    },
    /// The directive cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}
