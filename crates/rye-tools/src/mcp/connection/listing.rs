//! The paginated listing of a server's tools.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, RoleClient};
use serde_json::Value;

use super::diagnosis::Failed;
use super::error::{ConnectError, PAGES, TOOLS};
use crate::mcp::received::WRITTEN;
use crate::mcp::secrets::Secrets;
use crate::mcp::tool_set::{ToolSet, quote};

/// The largest total size, in bytes of JSON. The tools stay in memory, and a person has to read them.
const LISTED: usize = 4 * 1024 * 1024;

/// The tools of a server.
#[derive(Debug)]
pub(in crate::mcp) struct ToolListing {
    pub(in crate::mcp) set: ToolSet,
    /// The tools as listed.
    pub(in crate::mcp) listed: Vec<Value>,
    /// Each entry of the list that is left out, with the reason.
    pub(in crate::mcp) left_out: Vec<String>,
}

/// Lists all tools of the server, without the cache of the library.
pub(super) async fn list(
    peer: &Peer<RoleClient>,
    secrets: &Secrets,
) -> Result<ToolListing, Failed> {
    let mut listed = Vec::new();
    let mut left_out = Vec::new();
    let mut bytes = 0;
    let mut cursor = None;
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let request = ClientRequest::ListToolsRequest(ListToolsRequest {
            method: Default::default(),
            params: Some(params),
            extensions: Default::default(),
        });
        let ServerResult::ListToolsResult(page) = peer.send_request(request).await? else {
            return Err(unexpected_answer().into());
        };
        let written = page.meta.as_ref().and_then(|meta| meta.0.get(WRITTEN)?.as_str());
        let written = written.ok_or_else(unexpected_answer)?;
        let tools: Vec<Value> = serde_json::from_str(written).map_err(|_| unexpected_answer())?;
        bytes += written.len();
        for tool in tools {
            match problem(&tool, &page.tools) {
                None => listed.push(tool),
                Some(problem) => left_out.push(format!("{}: {problem}", label(&tool, secrets))),
            }
        }
        cursor = page.next_cursor;
        if listed.len() + left_out.len() > TOOLS || bytes > LISTED {
            break;
        }
        if cursor.is_none() {
            let set = ToolSet::of(&listed).map_err(ConnectError::from)?;
            return Ok(ToolListing { set, listed, left_out });
        }
    }
    Err(ConnectError::TooMany.into())
}

/// Returns the reason why an entry of the list is no usable tool. The library, which got the usable ones, leaves out those that ask for
/// headers which no request may have (the annotation `x-mcp-header` of the protocol).
fn problem(tool: &Value, read: &[Tool]) -> Option<&'static str> {
    let Some(name) = tool.get("name").and_then(Value::as_str) else {
        return Some("it is no tool with a name");
    };
    let Some(schema) = tool.get("inputSchema").and_then(Value::as_object) else {
        return Some("its `inputSchema` is no object");
    };
    let is_read = |read: &Tool| name == read.name && *schema == *read.input_schema;
    (!read.iter().any(is_read)).then_some("it asks for headers that no request may have")
}

/// Returns the name of an entry in a list of tools. A secret is removed before the name is cut.
fn label(tool: &Value, secrets: &Secrets) -> String {
    match tool.get("name").and_then(Value::as_str) {
        Some(name) => format!("tool {}", quote(&secrets.text(name))),
        None => "an entry".to_owned(),
    }
}

/// Returns the error for a result that is no JSON of the protocol.
pub(super) fn unreadable(error: &serde_json::Error) -> Failed {
    ConnectError::Unreadable { problem: error.to_string() }.into()
}

pub(super) fn unexpected_answer() -> ConnectError {
    ConnectError::Answer { problem: "not one that was asked for".to_owned() }
}
