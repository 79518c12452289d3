//! One call of a tool, outside of any thread.

use std::sync::Arc;

use rye_caps::{Authority, Capability, Kind, Layer, Primary};
use rye_resolve::ItemId;
use rye_thread::ToolOutput;
use rye_tools::fs::Root;
use rye_types::ItemKind;
use serde_json::{Map, Value};

use super::caller::Caller;
use super::error::PrimaryError;
use crate::aliases::tool_id;
use crate::config::{APPROVAL_FILE, approval_patterns, policy_layers};
use crate::plan::{
    NotDriven, Offer, Offering, PrepareError, TreeAccess, invocation, offer, programs, reach,
};
use crate::project::Project;

/// Offers that tool alone, as a thread would be offered it, and calls it.
pub(super) async fn call(
    project: &Project,
    id: &ItemId,
    parameters: Map<String, Value>,
    caller: &Caller,
) -> Result<ToolOutput, PrimaryError> {
    let id: ItemId = tool_id(id.as_str()).parse().unwrap_or_else(|_| id.clone());
    let capability = Capability::new(Primary::Execute, Kind::Tool, id.as_str())
        .expect("because every item id is one of a capability");
    let policy = policy_layers(project.trust_config.as_ref()).map_err(PrepareError::from)?;
    let authority =
        policy.iter().cloned().fold(caller.authority().clone(), |it, layer| it.narrow(layer));
    // By its id first: a caller learns nothing of a tool that it may neither read nor call. One that may read it learns whether
    // it is there, and all that a call needs.
    let may_read = caller.may(Primary::Load, ItemKind::Tool, &id);
    if !may_read {
        drop(authority.permit(&capability.into())?);
    }
    let item = project.library.without_drafts().tool(&id)?;
    let invocation = invocation(&id, item.content.value());
    let invocation = invocation.map_err(|reason| PrimaryError::Tool { id: id.clone(), reason })?;
    drop(authority.permit(&invocation)?);
    let offer = offer_for(project, &policy, &authority, &id)?;
    let output = offer.palette.call(&authority, id.as_str(), Value::Object(parameters)).await;
    output.ok_or_else(|| {
        let reason = offer.withheld.first().map(ToString::to_string);
        let reason = reason.unwrap_or_else(|| "it is not one that is run".to_owned());
        PrimaryError::Tool { id, reason }
    })
}

fn offer_for(
    project: &Project,
    policy: &[Layer],
    authority: &Authority,
    id: &ItemId,
) -> Result<Offer, PrepareError> {
    let folder = project.library.spaces().project().ok_or(PrepareError::NoProject)?;
    let root = Root::open(folder).map_err(PrepareError::Project)?;
    let approval = project.library.config(APPROVAL_FILE)?;
    let programs = programs(project)?;
    let reach = reach(project)?;
    let asked = approval_patterns(approval.as_ref())?;
    let tree: Arc<dyn TreeAccess> = Arc::new(NotDriven);
    let offer = offer(&Offering {
        library: &project.library,
        policy,
        authority,
        root: &root,
        programs: &programs,
        reach: &reach,
        asked: &asked,
        only: Some(id),
        tree: &tree,
    })?;
    let starting = programs.processes.as_deref().filter(|_| offer.starts_programs);
    project.hold_policy(starting)?;
    Ok(offer)
}
