//! One call of a tool, outside of any thread.

use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Pattern, Primary};
use rye_resolve::ItemId;
use rye_tools::fs::Root;
use serde_json::{Map, Value};

use super::caller::Caller;
use super::error::PrimaryError;
use super::execute::Executed;
use crate::config::{APPROVAL_FILE, asked, policy_layers};
use crate::rye::Rye;
use crate::session::{PrepareError, offer, programs, reach, tool_id};

/// Offers that tool alone, as a thread would be offered it, and calls it.
pub(super) async fn call(
    rye: &Rye,
    id: &ItemId,
    parameters: Map<String, Value>,
    caller: &Caller,
) -> Result<Executed, PrimaryError> {
    let id: ItemId = tool_id(id.as_str()).parse().unwrap_or_else(|_| id.clone());
    let capability = Capability::new(Primary::Execute, Kind::Tool, id.as_str())
        .expect("because every item id is one of a capability");
    let policy = policy_layers(rye.trust_config.as_ref()).map_err(PrepareError::from)?;
    let authority =
        policy.iter().cloned().fold(caller.authority().clone(), |it, layer| it.narrow(layer));
    drop(authority.permit(&capability)?);
    let offer = offered(rye, &policy, &only(&authority, &capability))?;
    let Some(output) = offer.palette.call(&authority, id.as_str(), Value::Object(parameters)).await
    else {
        rye.library.tool(&id)?;
        let reason = offer.withheld.into_iter().next();
        let reason = reason.unwrap_or_else(|| "it is not one that is run".to_owned());
        return Err(PrimaryError::Tool { id, reason });
    };
    Ok(Executed { content: output.content, status: output.status })
}

fn offered(
    rye: &Rye,
    policy: &[Layer],
    authority: &Authority,
) -> Result<crate::session::Offer, PrepareError> {
    let project = rye.library.spaces().project().ok_or(PrepareError::NoProject)?;
    let root = Root::open(project).map_err(PrepareError::Project)?;
    let approval = rye.library.config(APPROVAL_FILE)?;
    let (programs, reach, asked) = (programs(rye)?, reach(rye)?, asked(approval.as_ref())?);
    offer(&rye.library, policy, authority, &root, &programs, &reach, &asked)
}

/// The authority for this call alone, so that no other tool is looked at.
fn only(authority: &Authority, capability: &Capability) -> Authority {
    let grant: Grant = std::iter::once(Pattern::exactly(capability)).collect();
    authority.narrow(Layer::new(LayerName::Operator, grant))
}
