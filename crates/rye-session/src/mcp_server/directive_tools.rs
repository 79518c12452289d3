//! Directives as tools of their own: typed by their inputs and outputs, with the authority of `rye_execute`.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Tool};
use rye_caps::Primary;
use rye_resolve::ItemId;
use rye_thread::palette_names;
use rye_types::ItemKind;
use serde_json::{Map, Value};

use super::error::RequestError;
use super::host::ServerHost;

/// As many directives are offered at most: clients give all tools to their models.
const MOST: usize = 256;

/// Returns the directives that clients may run, each with its tool, sorted by id. One that is refused or broken is none.
pub(super) fn directive_tools(host: &ServerHost) -> Result<Vec<(ItemId, Tool)>, RequestError> {
    let rye = host.rye()?;
    let caller = host.caller();
    let listed = rye.library().survey(ItemKind::Directive).items.into_iter();
    let ids: Vec<ItemId> = listed
        .map(|listed| listed.id)
        .filter(|id| caller.may(Primary::Execute, ItemKind::Directive, id))
        .take(MOST)
        .collect();
    let names = palette_names(&ids.iter().map(ItemId::as_str).collect::<Vec<_>>());
    let tools = ids.into_iter().zip(names).filter_map(|(id, name)| {
        let form = rye.directive_form(&id).ok()?;
        let mut tool = Tool::new(name, form.description, members(form.inputs));
        tool.title = form.title;
        tool.output_schema = form.outputs.map(members);
        Some((id, tool))
    });
    Ok(tools.collect())
}

/// Returns the outputs of a thread as the result of its directive's tool. A thread that did not complete is an error, which is
/// text alone, because clients hold structured results against the schema of the outputs.
pub(super) fn outputs_result(result: CallToolResult) -> CallToolResult {
    let Some(told) = &result.structured_content else { return result };
    if told["state"] != "completed" {
        return CallToolResult::error(vec![ContentBlock::text(told.to_string())]);
    }
    match &told["outputs"] {
        outputs @ Value::Object(_) => CallToolResult::structured(outputs.clone()),
        _ => {
            let text = told["text"].as_str().unwrap_or_default();
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
    }
}

fn members(schema: Value) -> Arc<Map<String, Value>> {
    match schema {
        Value::Object(members) => Arc::new(members),
        _ => Arc::default(),
    }
}
