//! Aliases of shipped tools, which mean the tool in rules, grants, calls and conditions (SPEC 5.5).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rye_caps::{Capability, Grant, Kind, Pattern, Primary};
use rye_parse::PermissionEntry;
use rye_resolve::{ExtendsChain, ResolveError, permission_grant};
use rye_thread::THREAD_DIRECTIVE;

/// Returns the item id that an id means, which is another one for an alias.
pub(crate) fn tool_id(id: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == id).map_or(id, |(_, tool)| tool)
}

/// The patterns that a rule with `pattern` has, never none: a rule that matches an alias is about the tool, whatever the tool is
/// called. The alias itself is no capability of any call, so that a pattern which spells it becomes the one of its tool.
#[must_use]
pub fn canonical(pattern: Pattern) -> Vec<Pattern> {
    let meant = CAPABILITIES
        .iter()
        .filter(|(alias, tool)| pattern.matches(alias) && !pattern.matches(tool))
        .map(|(_, tool)| tool);
    let tools: BTreeSet<&Capability> = meant.collect();
    let is_alias = !tools.is_empty() && pattern.as_str().parse::<Capability>().is_ok();
    let own = (!is_alias).then_some(pattern);
    own.into_iter().chain(tools.into_iter().map(Pattern::exactly)).collect()
}

/// The capabilities to execute an alias and its tool.
static CAPABILITIES: LazyLock<Vec<(Capability, Capability)>> = LazyLock::new(|| {
    let executed = |id: &str| {
        Capability::new(Primary::Execute, Kind::Tool, id)
            .expect("because aliases and the ids of shipped tools are valid ids")
    };
    ALIASES.iter().map(|(alias, tool)| (executed(alias), executed(tool))).collect()
});

/// The grant of a chain, in which an alias counts as its tool.
///
/// # Errors
///
/// The function fails if a permission of the chain is no pattern.
pub fn chain_grant(chain: &ExtendsChain) -> Result<Grant, ResolveError> {
    Ok(canonical_grant(&chain.grant()?))
}

/// The grant of one entry of `<permissions>`, in which an alias counts as its tool; none where it is no pattern.
pub(crate) fn entry_grant(entry: &PermissionEntry) -> Option<Grant> {
    permission_grant(entry).ok().map(|grant| canonical_grant(&grant))
}

/// The grant in which an alias counts as its tool.
pub(crate) fn canonical_grant(grant: &Grant) -> Grant {
    grant.patterns().iter().cloned().flat_map(canonical).collect()
}

/// The other ids that a shipped tool answers to; what is authorised is always the tool itself.
pub(crate) fn aliases(id: &str) -> Vec<&'static str> {
    ALIASES.iter().filter(|(_, tool)| *tool == id).map(|(alias, _)| *alias).collect()
}

/// Alias and tool (SPEC 5.5).
const ALIASES: [(&str, &str); 6] = [
    ("fs_read", "rye/file-system/read"),
    ("fs_write", "rye/file-system/write"),
    ("rye/agent/threads/spawn_thread", THREAD_DIRECTIVE),
    ("rye/bash", "rye/bash/bash"),
    ("rye/file-system/fs_read", "rye/file-system/read"),
    ("rye/file-system/fs_write", "rye/file-system/write"),
];
