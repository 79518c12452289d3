//! The paginated listing of a server's tools.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, RoleClient};
use serde_json::Value;

use super::diagnosis::Failed;
use super::error::{ConnectError, PAGES, TOOLS};
use crate::mcp::bounded::WRITTEN;
use crate::mcp::tool_set::ToolSet;

/// The largest total size, in bytes of JSON. The tools stay in memory, and a person has to read them.
const LISTED: usize = 4 * 1024 * 1024;

/// The tools of a server.
#[derive(Debug)]
pub(in crate::mcp) struct ToolListing {
    pub(in crate::mcp) set: ToolSet,
    /// The tools as listed.
    pub(in crate::mcp) listed: Vec<Value>,
}

/// Lists all tools of the server, without the cache of the library.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<ToolListing, Failed> {
    let mut listed = Vec::new();
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
        listed.extend(keep_accepted(tools, &page.tools));
        cursor = page.next_cursor;
        if listed.len() > TOOLS || bytes > LISTED {
            break;
        }
        if cursor.is_none() {
            let set = ToolSet::of(&listed).map_err(ConnectError::from)?;
            return Ok(ToolListing { set, listed });
        }
    }
    Err(ConnectError::TooMany.into())
}

/// Returns the tools, as they were written, that the library has not left out. It leaves out those that ask for headers which no
/// request may have (the annotation `x-mcp-header` of the protocol).
fn keep_accepted(written: Vec<Value>, read: &[Tool]) -> impl Iterator<Item = Value> {
    let is_read = |tool: &Value, read: &Tool| {
        tool["name"] == *read.name && tool["inputSchema"].as_object() == Some(&*read.input_schema)
    };
    written.into_iter().filter(move |tool| read.iter().any(|read| is_read(tool, read)))
}

pub(super) fn unexpected_answer() -> ConnectError {
    ConnectError::Answer { problem: "not one that was asked for".to_owned() }
}
