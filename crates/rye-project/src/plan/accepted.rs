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

/// Returns the reason why the lock lets a tool of a server not be offered; no server is looked at.
#[cfg(feature = "mcp")]
pub(crate) fn lock_refusal(project: &Project, manifest: &ToolManifest) -> Option<String> {
    Servers::of(project, None).ok()?.lock_refusal(manifest)
}

/// Returns nothing, because this program uses no server.
#[cfg(not(feature = "mcp"))]
pub(crate) fn lock_refusal(_: &Project, _: &ToolManifest) -> Option<String> {
    None
}

/// Returns a lookup that finds nothing, because no tool of a server is offered without the feature `mcp`.
#[cfg(not(feature = "mcp"))]
pub fn accepted_digests(_: &Project) -> impl Fn(&Item<ToolManifest>) -> Option<Digest> + use<> {
    |_| None
}
