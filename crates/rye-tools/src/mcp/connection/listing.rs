//! What a server offers, asked for page by page.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, RoleClient};
use serde_json::Value;

use super::ConnectError;
use super::ends::Failed;
use crate::mcp::tool_set::ToolSet;

/// The most tools that a server may offer, and the most pages that it may spread them over.
pub(super) const TOOLS: usize = 1000;
pub(super) const PAGES: usize = 100;

/// The most that they may be altogether, in bytes of JSON: they stay in memory, and a person has to read them.
const LISTED: usize = 4 * 1024 * 1024;

/// What a server offers.
#[derive(Debug)]
pub(in crate::mcp) struct Offered {
    pub(in crate::mcp) set: ToolSet,
    /// The tools as the server listed them.
    pub(in crate::mcp) listed: Vec<Value>,
}

/// Everything that the server lists now; the library's own cache is passed by.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Offered, Failed> {
    let (mut listed, mut bytes, mut cursor) = (Vec::new(), 0, None);
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let request = ClientRequest::ListToolsRequest(ListToolsRequest {
            method: Default::default(),
            params: Some(params),
            extensions: Default::default(),
        });
        let ServerResult::ListToolsResult(page) = peer.send_request(request).await? else {
            return Err(unexpected().into());
        };
        let tools = page.tools.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        let tools = tools.map_err(|_| unexpected())?;
        bytes += tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
        listed.extend(tools);
        cursor = page.next_cursor;
        if listed.len() > TOOLS || bytes > LISTED {
            break;
        }
        if cursor.is_none() {
            let set = ToolSet::of(&listed).map_err(ConnectError::from)?;
            return Ok(Offered { set, listed });
        }
    }
    Err(ConnectError::TooMany.into())
}

pub(super) fn unexpected() -> ConnectError {
    ConnectError::Answer { problem: "not one that was asked for".to_owned() }
}
