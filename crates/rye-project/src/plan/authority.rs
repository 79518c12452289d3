//! The authority of a thread: operator, signers and directive, each a layer (SPEC 9.4).

use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Pattern, Primary};
use rye_sign::{KeyId, Provenance};
use rye_thread::{AddedItem, DIRECTIVE_RETURN, OutputContract};
use serde_json::Value;

use super::error::PrepareError;
use super::prompting::Composed;
use super::request::ChildBounds;
use crate::aliases::canonical_grant;

/// Stacks the layers: what the operator's policy allows, what the keys may grant that signed the chain and the knowledge
/// in its context, and what the chain declares. Declaring outputs grants returning them (SPEC 9.2).
///
/// Hooks count as directives do, and so does the hooks file that says what the directive extends. Knowledge counts because it steers the
/// model as the directives do: with more than its signer may grant, it would be a way around the limit of that key.
pub(crate) fn authority(
    policy: &[Layer],
    composed: &Composed,
    contract: &OutputContract,
    declared: Grant,
) -> Result<Authority, PrepareError> {
    let Composed { chain, knowledge, hooking, .. } = composed;
    let signed = chain.root_first().map(|link| link.content.provenance());
    let extended_by = chain.extended_by().map(|hook| &hook.provenance);
    let signed =
        signed.chain(extended_by).chain(knowledge.iter().map(|item| item.content.provenance()));
    let signed = signed.chain(hooking.provenances());
    let mut layers = policy.to_vec();
    for provenance in signed {
        layers.extend(ceilings(provenance)?);
    }
    let declaring = chain.declaring().unwrap_or_else(|| chain.leaf());
    layers.push(Layer::new(LayerName::Directive(declaring.id.to_string()), declared));
    Ok(stack(layers.into_iter().map(|layer| returning(layer, contract))))
}

/// The same authority, for a thread that goes on by what an item says which `provenance` vouches for.
pub(super) fn narrow(
    authority: &Authority,
    provenance: &Provenance,
    contract: &OutputContract,
) -> Result<Authority, PrepareError> {
    let own = authority.layers().iter().cloned();
    let more = ceilings(provenance)?.into_iter().map(|layer| returning(layer, contract));
    Ok(stack(own.chain(more)))
}

/// Returns an item whose text a call adds to the conversation, with the most that its signer may grant. `row` is its record.
///
/// # Errors
///
/// The function fails if a trust document lists an invalid pattern for the key that signed the item.
pub fn added_item(
    row: &Value,
    provenance: &Provenance,
    contract: &OutputContract,
) -> Result<AddedItem, PrepareError> {
    let facts = row.as_object().cloned().unwrap_or_default();
    let layers = ceilings(provenance)?.into_iter().map(|layer| returning(layer, contract));
    let grants: Vec<Grant> = layers.map(|layer| layer.grant().clone()).collect();
    let added = AddedItem::new(facts);
    Ok(match provenance {
        Provenance::Signed(signature) => added.signed_by(signature.key_id().as_str(), grants),
        _ => added,
    })
}

/// Returns the parts of what the chain declares that its signers take away: the key of a directive of the chain, or that of
/// knowledge, may grant less. The text of the directive does not show them.
pub(crate) fn lessened_by_signers(
    authority: &Authority,
    composed: &Composed,
) -> Result<Vec<String>, PrepareError> {
    let Some(declared) = authority.layers().last() else { return Ok(Vec::new()) };
    let links = composed.chain.root_first().rev();
    let links = links.map(|link| (link.kind, &link.id, link.content.provenance()));
    let knowledge = composed.knowledge.iter();
    let knowledge = knowledge.map(|item| (item.kind, &item.id, item.content.provenance()));
    let signed = links.chain(knowledge);
    let signed = signed.map(|(kind, id, signed)| (format!("{kind} `{id}`"), signed));
    let files =
        composed.hooking.files().map(|(file, signed)| (format!("the hooks file `{file}`"), signed));
    let directives = composed.hooking.directives().iter();
    let directives =
        directives.map(|item| (format!("{} `{}`", item.kind, item.id), item.content.provenance()));
    let extended_by = composed.chain.extended_by();
    let extended_by =
        extended_by.map(|hook| (format!("the hooks file `{}`", hook.location), &hook.provenance));
    let mut lessened = Vec::new();
    for (item, provenance) in signed.chain(extended_by).chain(files).chain(directives) {
        let ceilings = ceilings(provenance)?;
        let lost = ceilings.iter().find_map(|layer| {
            let patterns = declared.grant().patterns().iter();
            let own =
                patterns.filter(|pattern| **pattern != Pattern::exactly(&return_capability()));
            let mut lost = own.filter(|pattern| !covers(layer.grant(), pattern));
            lost.next().map(|pattern| (layer.name(), pattern))
        });
        lessened.extend(lost.map(|(key, pattern)| {
            format!(
                "{item} lessens what the thread may do: {key}, which signed it, may not grant `{pattern}`; read \
                 it and sign it with a key that may, or leave it out"
            )
        }));
    }
    Ok(lessened)
}

fn covers(grant: &Grant, pattern: &Pattern) -> bool {
    grant.covers(&std::iter::once(pattern.clone()).collect()).is_ok()
}

/// Returns the most authority that an item with this `provenance` can have under `policy`,
/// whichever thread uses it (SPEC 2.7).
pub(crate) fn of_signer(
    policy: &[Layer],
    provenance: &Provenance,
) -> Result<Authority, PrepareError> {
    Ok(stack(policy.iter().cloned().chain(ceilings(provenance)?)))
}

/// Stacks the layers and drops repeated ones. Without any layer, everything is allowed.
fn stack(layers: impl IntoIterator<Item = Layer>) -> Authority {
    let mut layers = layers.into_iter();
    let first = layers.next();
    let root = first.unwrap_or_else(|| Layer::new(LayerName::Operator, Grant::everything()));
    layers.fold(Authority::new(root), |authority, layer| {
        if authority.layers().contains(&layer) { authority } else { authority.narrow(layer) }
    })
}

/// Returns the authority of a child: its parent's, with the layers that bound the parent, and its
/// own (SPEC 9.4).
pub(crate) fn below(child_bounds: &ChildBounds, own: &Authority) -> Authority {
    let inherited = child_bounds.authority.layers().iter().map(|layer| match layer.name() {
        LayerName::Directive(_) => {
            let name = LayerName::Thread(child_bounds.parent.to_string());
            Layer::new(name, layer.grant().clone())
        }
        _ => layer.clone(),
    });
    stack(inherited.chain(own.layers().iter().cloned()))
}

/// The capability of returning outputs.
#[must_use]
pub fn return_capability() -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, DIRECTIVE_RETURN)
        .expect("because the id of the internal tool is a valid id")
}

/// One layer per list of patterns in the trust documents of the key that signed.
pub(crate) fn ceilings(provenance: &Provenance) -> Result<Vec<Layer>, PrepareError> {
    // A draft has what its signer may grant, which is what it has once it is signed again.
    match provenance {
        Provenance::Signed(signature) | Provenance::Draft(signature) => {
            ceilings_of_key(signature.key_id(), signature.grants())
        }
        _ => Ok(Vec::new()),
    }
}

/// One layer per list of patterns that bounds what a key may grant.
pub(crate) fn ceilings_of_key(
    key_id: &KeyId,
    grants: &[Vec<String>],
) -> Result<Vec<Layer>, PrepareError> {
    let layer = |patterns: &Vec<String>| {
        let grant =
            patterns.iter().map(|text| text.parse::<Pattern>()).collect::<Result<Grant, _>>();
        grant
            .map(|grant| Layer::new(LayerName::Signer(key_id.to_string()), canonical_grant(&grant)))
    };
    let layers = grants.iter().map(layer).collect::<Result<_, _>>();
    layers.map_err(|source| PrepareError::Ceiling { key_id: key_id.to_string(), source })
}

fn returning(layer: Layer, contract: &OutputContract) -> Layer {
    if contract.is_empty() {
        return layer;
    }
    let pattern = Pattern::exactly(&return_capability());
    Layer::new(layer.name().clone(), layer.grant().with(pattern))
}
