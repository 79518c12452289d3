//! Needs of steps that are granted and that a thread cannot have (SPEC 9.4).

use rye_caps::{Authority, Capability, Denied, Grant, Invocation, LayerName, Pattern};
use rye_resolve::Library;
use rye_types::LimitSet;

use super::prompting::Composed;
use super::tools::Offer;
use crate::needs::{
    LaterRefusal, LibraryItems, Need, NeedSource, StartReason, needs_of, refused_later,
};

/// The needs of steps that the directive grants and that a thread of it cannot have, each as a sentence.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    /// Tools that cannot be offered.
    pub(super) withheld: Vec<String>,
    /// Capabilities that the policy, a signer or the operator's grant to clients denies.
    pub(super) denied: Vec<String>,
}

impl Lacking {
    /// Looks at what the steps of the leaf name literally. What a model needs is known when it calls. The limits are those of a root
    /// thread that begins; of another one, the order of its calls and the threads that it starts are not judged.
    pub(super) fn of(
        composed: &Composed,
        library: &Library,
        declared: &Grant,
        (authority, offer, limits): (&Authority, &Offer, Option<&LimitSet>),
    ) -> Self {
        let mut lacking = Self::default();
        let items = LibraryItems::of(library);
        let leaf = composed.chain.leaf().content.value();
        let needs = needs_of(leaf, composed.inputs.values(), [], &items);
        for need in &needs.needs {
            let Some(sources) = steps(need) else { continue };
            let Ok(capability) = need.pattern.as_str().parse::<Capability>() else { continue };
            if !declared.allows(&capability) {
                continue;
            }
            let needing = format!("{sources} needs `{capability}`");
            let withheld = offer.withheld.iter().find(|tool| tool.is(&capability));
            let starting = needs.function_of_fork(&need.pattern);
            match (withheld, refusal(authority, &capability, starting, offer)) {
                (Some(tool), _) => lacking.withheld.push(format!("{needing}, and {tool}")),
                (None, Some(denied)) => lacking.denied.push(format!("{needing}, and {denied}")),
                (None, None) => {}
            }
        }
        let Some(limits) = limits else { return lacking };
        let functions = |need: &Pattern| {
            let mut known = offer.invocations.iter();
            let known = known.find(|call| Pattern::exactly(call.item()) == *need);
            let of_tool = known.map(|call| call.functions().to_vec()).unwrap_or_default();
            of_tool.into_iter().chain(needs.function_of_fork(need)).collect()
        };
        let later = refused_later(&needs, &items, functions).into_iter();
        let later = later.filter(|it| declared.patterns().iter().any(|own| own.meets(&it.need)));
        lacking.denied.extend(later.filter(is_of_a_call).map(|it| it.to_string()));
        let starts = needs.refused_starts(limits, &items, false).into_iter();
        // A child that comes to the end of its turns has begun, and may go on with more of them.
        let refused = starts.filter(|start| !matches!(start.reason, StartReason::Turns(_)));
        lacking.denied.extend(refused.map(|start| start.to_string()));
        lacking
    }
}

/// A child starts without a permission that it only declares. What its steps call is judged here, as the check judges it.
fn is_of_a_call(refusal: &LaterRefusal) -> bool {
    !matches!(refusal.source, NeedSource::Declared(_))
}

/// The steps that need it; `None` if only a child does, which is judged when it starts.
fn steps(need: &Need) -> Option<String> {
    let is_own =
        |source: &&NeedSource| !matches!(source, NeedSource::Child(_) | NeedSource::Declared(_));
    let own: Vec<String> = need.sources.iter().filter(is_own).map(ToString::to_string).collect();
    (!own.is_empty()).then(|| own.join(", "))
}

/// The refusal of a layer above the declaration. A child may do less than it declares (SPEC D6).
fn refusal(
    authority: &Authority,
    capability: &Capability,
    starting: Option<Capability>,
    offer: &Offer,
) -> Option<Denied> {
    let known = offer.invocations.iter().find(|call| call.item() == capability);
    let invocation = match (known, starting) {
        (Some(known), _) => known.clone(),
        (None, starting) => Invocation::new(capability.clone(), starting),
    };
    let denied = authority.permit(&invocation).err()?;
    let is_bound = |layer: &LayerName| {
        matches!(
            layer,
            LayerName::Operator | LayerName::Project | LayerName::Signer(_) | LayerName::Client
        )
    };
    let is_refused = denied.refusing.iter().any(|(layer, _)| is_bound(layer));
    is_refused.then_some(denied)
}
