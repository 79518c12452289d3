//! What a thread may do: operator, signers and directive, each a layer (SPEC 9.4).

use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Pattern, Primary};
use rye_resolve::{ExtendsChain, Item};
use rye_sign::Provenance;
use rye_thread::{DIRECTIVE_RETURN, OutputContract};

use super::error::PrepareError;

/// Stacks the layers: what the operator allows, what the keys that signed the chain may grant, and what the chain
/// declares. Declaring outputs grants returning them (SPEC 9.2).
pub(crate) fn authority(
    chain: &ExtendsChain,
    contract: &OutputContract,
) -> Result<Authority, PrepareError> {
    let mut authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
    for link in chain.root_first() {
        for ceiling in ceilings(link)? {
            authority = authority.narrow(returning(ceiling, contract));
        }
    }
    let declaring = chain.declaring().unwrap_or_else(|| chain.leaf());
    let declared = Layer::new(LayerName::Directive(declaring.id.to_string()), chain.grant()?);
    Ok(authority.narrow(returning(declared, contract)))
}

/// The capability of returning outputs.
pub(crate) fn return_capability() -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, DIRECTIVE_RETURN)
        .expect("because the id of the internal tool is a valid id")
}

/// The most that the key which signed `link` may grant, one layer per list of its trust documents (SPEC 2.7).
fn ceilings(link: &Item<rye_parse::Directive>) -> Result<Vec<Layer>, PrepareError> {
    let Provenance::Signed(signature) = link.content.provenance() else { return Ok(Vec::new()) };
    let name = signature.owner().map_or_else(|| signature.key_id().to_string(), str::to_owned);
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
