//! What a thread may do: operator, signers and directive, each a layer (SPEC 9.4).

use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Pattern, Primary};
use rye_parse::Knowledge;
use rye_resolve::{ExtendsChain, Item};
use rye_sign::Provenance;
use rye_thread::{DIRECTIVE_RETURN, OutputContract};

use super::error::PrepareError;

/// Stacks the layers: what the operator allows, what the keys may grant that signed the chain and the knowledge in its
/// context, and what the chain declares. Declaring outputs grants returning them (SPEC 9.2).
///
/// The hooks file that says what the directive extends counts as a directive does. Knowledge counts because it steers the model as the directives do: with more than its signer may grant, it would be
/// a way around the limit of that key.
pub(crate) fn authority(
    chain: &ExtendsChain,
    knowledge: &[Item<Knowledge>],
    contract: &OutputContract,
) -> Result<Authority, PrepareError> {
    let signed = chain.root_first().map(|link| link.content.provenance());
    let extended_by = chain.extended_by().map(|hook| &hook.provenance);
    let signed =
        signed.chain(extended_by).chain(knowledge.iter().map(|item| item.content.provenance()));
    let mut authority = operator();
    for provenance in signed {
        for ceiling in ceilings(provenance)? {
            let layer = returning(ceiling, contract);
            if !authority.layers().contains(&layer) {
                authority = authority.narrow(layer);
            }
        }
    }
    let declaring = chain.declaring().unwrap_or_else(|| chain.leaf());
    let declared = Layer::new(LayerName::Directive(declaring.id.to_string()), chain.grant()?);
    Ok(authority.narrow(returning(declared, contract)))
}

/// The most that an item which `provenance` vouches for may do, whoever asks for it (SPEC 2.7).
pub(crate) fn of_signer(provenance: &Provenance) -> Result<Authority, PrepareError> {
    Ok(ceilings(provenance)?
        .into_iter()
        .fold(operator(), |authority, layer| authority.narrow(layer)))
}

fn operator() -> Authority {
    Authority::new(Layer::new(LayerName::Operator, Grant::everything()))
}

/// The capability of returning outputs.
pub(crate) fn return_capability() -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, DIRECTIVE_RETURN)
        .expect("because the id of the internal tool is a valid id")
}

/// One layer per list of patterns in the trust documents of the key that signed.
fn ceilings(provenance: &Provenance) -> Result<Vec<Layer>, PrepareError> {
    let Provenance::Signed(signature) = provenance else { return Ok(Vec::new()) };
    let name = signature.key_id().to_string();
    let layer = |patterns: &Vec<String>| {
        let grant =
            patterns.iter().map(|text| text.parse::<Pattern>()).collect::<Result<Grant, _>>();
        grant.map(|grant| Layer::new(LayerName::Signer(name.clone()), grant))
    };
    signature
        .grants()
        .iter()
        .map(layer)
        .collect::<Result<_, _>>()
        .map_err(|source| PrepareError::Ceiling { key_id: signature.key_id().to_string(), source })
}

fn returning(layer: Layer, contract: &OutputContract) -> Layer {
    if contract.is_empty() {
        return layer;
    }
    let pattern = Pattern::exactly(&return_capability());
    Layer::new(layer.name().clone(), layer.grant().with(pattern))
}
