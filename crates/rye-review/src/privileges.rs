//! Privileges: the permissions of a directive, its needs, and the smallest block that covers them (SPEC 9.4,
//! 9.6, 9.7).

mod called;
mod json;
mod layers;
mod text;
mod tighten;

use rye_caps::risk::{Acknowledgement, Classification, Finding};
use rye_caps::{
    Authority, Capability, Denied, Grant, Invocation, LayerName, Pattern, Permit, Primary,
};
use rye_project::{
    Need, PlanRequest, PrepareError, Project, Use, canonical, is_denied, ways_of_calling,
};
use rye_resolve::ItemId;
use rye_transcript::{Reading, ThreadId, ThreadRecord};

pub(crate) use self::layers::of_plan;
pub use self::tighten::{NothingToJudge, Tightened};

/// The privileges of a directive as a root thread: the authority of a run, the layer behind each grant, and
/// the part that is used.
///
/// Its `Display` is the text that `rye caps explain` prints. [`to_json`](Self::to_json) has the same as data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Privileges {
    /// The directive.
    pub id: ItemId,
    /// The directive of its chain that declares the permissions; without one, nothing is allowed.
    pub declared_by: Option<ItemId>,
    /// The layers that have to allow a call, outermost first.
    pub layers: Vec<LayerPrivileges>,
    /// The use of each declared permission, in the order of their patterns.
    pub uses: Vec<(Pattern, Use)>,
    /// The declared permissions that another one of them covers, each with that one.
    pub redundant: Vec<(Pattern, Pattern)>,
    /// The needs of the directive's structured steps, of its hooks and of the given threads.
    pub needs: Vec<Need>,
    /// A sentence for each need that the steps do not show.
    pub unjudged: Vec<String>,
    /// A sentence for each permission that a signer takes away, and for each need that is granted and denied all the same.
    pub denials: Vec<String>,
    /// A sentence for each item that is a draft of the operator's, or unsigned.
    pub drafts: Vec<String>,
    /// The reason why the directive may not run at all, as a sentence.
    pub refusal: Option<String>,
    authority: Authority,
    /// The capabilities of which each call waits for a person's decision.
    asked: Grant,
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
    /// The name of the layer.
    pub name: LayerName,
    /// The items that bring the layer in because its key signed them, such as ``directive `a/b` ``; empty for others.
    pub signed: Vec<String>,
    /// The patterns of the layer. An empty list allows nothing.
    pub grants: Vec<PatternPrivileges>,
}

/// One pattern that a layer allows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternPrivileges {
    /// The pattern.
    pub pattern: Pattern,
    /// The risk of the pattern, with the entry of the risk table behind it.
    pub classification: Classification,
    /// The consequence of the risk, for a pattern that the directive declares.
    pub finding: Option<Finding>,
    /// `true` for a pattern that is there only because the directive declares outputs.
    pub returns_outputs: bool,
}

/// The risk table, by what is asked of it.
#[derive(Debug, Clone)]
struct FindingsOf(rye_caps::risk::RiskTable);

impl Privileges {
    /// Finds the permissions and the needs of a directive. The needs come from its structured steps, from the
    /// hooks of its threads, and from the calls of `threads` that ran it: the verified record of each with its transcript.
    ///
    /// # Errors
    ///
    /// The function fails if an item of the directive cannot be found, verified or read, and if a thread ran
    /// another directive.
    pub fn of(
        project: &Project,
        directive: &ItemId,
        threads: &[(&ThreadRecord, &Reading)],
    ) -> Result<Self, PrivilegesError> {
        let other = threads.iter().find(|(record, _)| record.directive != directive.as_str());
        if let Some((record, _)) = other {
            return Err(PrivilegesError::OtherDirective {
                thread: record.thread.clone(),
                ran: record.directive.clone(),
                id: directive.clone(),
            });
        }
        Ok(layers::privileges(project, &PlanRequest::new(directive.clone()), threads)?)
    }

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

    /// Returns which of the calls that the capability permits wait for a person's decision, as a run decides (SPEC 10.11).
    #[must_use]
    pub fn waits(&self, capability: &Capability) -> Waits {
        let capability = canonical_capability(capability);
        if capability.primary() == Primary::Sign {
            return Waits::Each;
        }
        let calls = ways_of_calling(&capability, &self.invocations);
        match calls.iter().filter(|call| call.meets(&self.asked)).count() {
            0 => Waits::None,
            asked if asked < calls.len() => Waits::Some,
            _ => Waits::Each,
        }
    }

    /// The same for all calls that a pattern permits.
    fn waits_of(&self, pattern: &Pattern) -> Waits {
        if let Ok(capability) = pattern.as_str().parse::<Capability>() {
            return self.waits(&capability);
        }
        let is_asked = self.asked.covers(&Grant::from_iter([pattern.clone()])).is_ok();
        // Each signature is decided by itself, whatever the configuration says.
        if is_asked || pattern.as_str().starts_with("rye.sign.") {
            return Waits::Each;
        }
        let is_asked = self.asked.patterns().iter().any(|asked| asked.meets(pattern));
        let mut calls = self.invocations.iter().filter(|call| pattern.matches(call.item()));
        match is_asked || calls.any(|call| call.meets(&self.asked)) {
            true => Waits::Some,
            false => Waits::None,
        }
    }

    /// Returns the grant that the chain declares.
    #[must_use]
    pub fn declared_grant(&self) -> &Grant {
        &self.declared
    }

    /// The needs of calls that the declared permissions do not cover, and a run would be denied.
    pub fn denied_needs(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| need.is_of_a_call() && !self.grants(need))
    }

    /// The needs that children declare and start without.
    pub(crate) fn lessening_needs(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| !need.is_of_a_call() && !self.grants(need))
    }

    /// Returns `true` if the declared permissions cover a part of the need.
    pub(crate) fn grants(&self, need: &Need) -> bool {
        !is_denied(&self.declared, need)
    }
}

fn canonical_capability(capability: &Capability) -> Capability {
    let mut meant = canonical(Pattern::exactly(capability)).into_iter();
    meant.next().and_then(|meant| meant.as_str().parse().ok()).unwrap_or_else(|| capability.clone())
}

/// The calls of a capability or pattern that wait for a person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "none, a part, or all of them")]
pub enum Waits {
    /// No call waits.
    None,
    /// A part of them waits: those of some items, or, for a directive, those that start it as a thread.
    Some,
    /// Each call waits.
    Each,
}

impl Waits {
    /// The word that data has for it: `none`, `some` or `each`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Some => "some",
            Self::Each => "each",
        }
    }
}

/// A reason why the privileges of a directive are not known.
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
