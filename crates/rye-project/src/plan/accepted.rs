//! The digests that the lock accepts of MCP servers.

use rye_parse::ToolManifest;
use rye_resolve::Item;
use rye_sign::Digest;

#[cfg(feature = "mcp")]
use crate::plan::Servers;
use crate::project::Project;

/// Returns the lookup of what the lock accepts of a tool's server. Tools of servers that cannot be read are not offered.
#[cfg(feature = "mcp")]
pub fn accepted_digests(
    project: &Project,
) -> impl Fn(&Item<ToolManifest>) -> Option<Digest> + use<> {
    let servers = Servers::of(project, None).ok();
    move |item| servers.as_ref()?.accepted_digest(item.content.value())
}

/// Returns a lookup that finds nothing, because no tool of a server is offered without the feature `mcp`.
#[cfg(not(feature = "mcp"))]
pub fn accepted_digests(_: &Project) -> impl Fn(&Item<ToolManifest>) -> Option<Digest> + use<> {
    |_| None
}
