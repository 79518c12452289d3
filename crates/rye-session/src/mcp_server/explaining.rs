//! The explanation of a directive, as far as a client may have it.

use rye_caps::Primary;
use rye_project::primary::{Caller, PrimaryError};
use rye_project::{PlanRequest, Project};
use rye_resolve::ItemId;
use rye_review::Explained;
use rye_types::ItemKind;
use serde_json::Value;

/// Explains a directive that the client may load, as `rye explain --json` does.
///
/// The parts of such a directive are shown as its prompt shows them. The directives that it may start are other items, so that
/// only those are named that the client may load.
pub(super) fn explain(
    project: &Project,
    id: &ItemId,
    caller: &Caller,
) -> Result<Value, PrimaryError> {
    caller.permit(Primary::Load, ItemKind::Directive, id)?;
    let mut explained = Explained::with_starts(project, &PlanRequest::new(id.clone()))?;
    let starts = explained.starts.iter_mut();
    starts.for_each(|starts| {
        starts.retain(|start| caller.may(Primary::Load, ItemKind::Directive, &start.id));
    });
    Ok(explained.to_json())
}
