//! Which tools a thread is offered: those of the spaces that its authority covers.

use std::sync::{Arc, LazyLock};

use rye_caps::{Authority, Capability, Grant, Kind, Layer, Primary};
use rye_parse::{Executor, ToolManifest};
use rye_resolve::{Item, ItemId, ItemKind, Library};
use rye_thread::{
    DIRECTIVE_RETURN, Palette, PaletteEntry, PaletteError, THREAD_DIRECTIVE, ToolSpec,
};
use rye_tools::fs::Root;

use super::authority::{of_signer, return_capability};
use super::error::PrepareError;
use super::programs::{Behind, Programs, behind};
use super::tree::{Handle, thread_tool};
use super::web::{Reach, sent};
use super::with_causes;
use crate::config::is_provider;
use crate::shipped;

/// The palette, and the tools that are granted but cannot be offered, each with the reason.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) palette: Palette,
    pub(crate) withheld: Vec<String>,
    /// The files of the offered tools, sorted by id.
    pub(crate) items: Vec<Item<ToolManifest>>,
    /// Whether an offered tool starts programs.
    pub(crate) starts_programs: bool,
    /// Whether an offered tool reaches other machines.
    pub(crate) reaches_web: bool,
    /// Whether an offered tool is one of an MCP server.
    pub(crate) uses_servers: bool,
    /// What the tools know of other threads, once the thread is driven.
    pub(crate) children: Arc<Handle>,
}

/// Offers every tool that `authority`, which is one under `policy`, covers, confined to `root` or started by `programs`;
/// calls of those that `asked` covers wait for somebody.
///
/// # Errors
///
/// When a covered tool is refused or broken: a tool that does not verify is never just left out.
pub(crate) fn offer(
    library: &Library,
    policy: &[Layer],
    authority: &Authority,
    root: &Root,
    programs: &Programs,
    reach: &Reach,
    asked: &Grant,
) -> Result<Offer, PrepareError> {
    let (mut entries, mut withheld, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let (mut items, mut needed) = (Vec::new(), Needs::default());
    let children = Arc::new(Handle::default());
    for listed in library.list(ItemKind::Tool)? {
        let Some(capability) = covered(&listed.id, authority) else { continue };
        if capability == return_capability() {
            withheld.push(format!(
                "tool `{}` is not offered: its capability is the one of returning outputs; rename it",
                listed.id
            ));
            continue;
        }
        match library.tool(&listed.id) {
            Ok(item) => {
                match offered(&item, policy, capability, root, (programs, reach), &children) {
                    Ok((entry, needs)) => {
                        needed = needed.and(needs);
                        entries.push(entry.asking_for(asked));
                        items.push(item);
                    }
                    Err(reason) => withheld
                        .push(format!("tool `{}` is granted but not offered: {reason}", listed.id)),
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    match PrepareError::gathered(problems) {
        Some(error) => Err(error),
        None => {
            let palette = forking(Palette::new(entries)?, authority, asked, &children)?;
            let Needs { programs: starts_programs, web: reaches_web, servers: uses_servers } =
                needed;
            Ok(Offer {
                palette,
                items,
                withheld,
                starts_programs,
                reaches_web,
                uses_servers,
                children,
            })
        }
    }
}

/// Lets `rye_execute` start children where the authority may allow to execute a directive at all.
fn forking(
    palette: Palette,
    authority: &Authority,
    asked: &Grant,
    children: &Arc<Handle>,
) -> Result<Palette, PaletteError> {
    if authority.closed_by(Primary::Execute, Kind::Directive).is_some() {
        return Ok(palette);
    }
    let children = Arc::clone(children);
    palette.with_fork(
        ToolSpec::new("", &FORK.description, FORK.input_schema.clone()),
        asked,
        children,
    )
}

/// The shipped tool whose arguments `rye_execute` takes for a directive.
static FORK: LazyLock<ToolManifest> = LazyLock::new(|| {
    let path = format!("tools/{THREAD_DIRECTIVE}.yaml");
    let file = shipped().iter().find(|file| file.path == path).expect("because it is shipped");
    rye_parse::tool(file.text, "yaml").expect("because the shipped items are tested")
});

/// The capability of running the tool, when it is one and the authority covers it.
fn covered(id: &ItemId, authority: &Authority) -> Option<Capability> {
    if is_provider(id) || id.as_str() == DIRECTIVE_RETURN {
        return None;
    }
    let capability = Capability::new(Primary::Execute, Kind::Tool, id.as_str()).ok()?;
    authority.permit(&capability).is_ok().then_some(capability)
}

/// What a tool needs beside the project.
#[derive(Clone, Copy, Default)]
struct Needs {
    programs: bool,
    web: bool,
    servers: bool,
}

impl Needs {
    fn and(self, other: Self) -> Self {
        Self {
            programs: self.programs || other.programs,
            web: self.web || other.web,
            servers: self.servers || other.servers,
        }
    }
}

/// The tool as it is offered, and what it needs.
fn offered(
    item: &Item<ToolManifest>,
    policy: &[Layer],
    capability: Capability,
    root: &Root,
    (programs, reach): (&Programs, &Reach),
    children: &Arc<Handle>,
) -> Result<(PaletteEntry, Needs), String> {
    let manifest = item.content.value();
    let own =
        function_of(manifest).filter(|function| format!("rye/{function}") == THREAD_DIRECTIVE);
    if let Some(function) = own {
        vouch(item, policy, &capability, Some(function))?;
        let spec = ToolSpec::new("", &manifest.description, manifest.input_schema.clone());
        let (id, children) = (item.id.as_str(), Arc::clone(children));
        return Ok((PaletteEntry::spawning(id, spec, capability, children), Needs::default()));
    }
    let special = of_threads(manifest, children).map(Ok);
    let special = special.or_else(|| sent(manifest, reach.web.as_ref()));
    let behind = match special {
        Some(special) => special?,
        None => behind(item, root, programs, policy)?,
    };
    let Behind { tool, effect, function, secret, starts_programs, reaches_web, uses_servers } =
        behind;
    vouch(item, policy, &capability, function.as_deref())?;
    if secret.is_some() {
        vouch(item, policy, &capability, secret.as_deref())?;
    }
    let mut spec = ToolSpec::new("", &manifest.description, manifest.input_schema.clone());
    if let Some(schema) = &manifest.output_schema {
        spec = spec.with_output_schema(schema.clone());
    }
    let id = item.id.as_str();
    let entry = PaletteEntry::new(id, spec, capability, effect, tool);
    let needs = Needs { programs: starts_programs, web: reaches_web, servers: uses_servers };
    Ok((entry.with_aliases(&aliases(id)), needs))
}

/// The function of this program behind a manifest.
fn function_of(manifest: &ToolManifest) -> Option<&str> {
    match &manifest.executor {
        Executor::Builtin { function, .. } => Some(function),
        _ => None,
    }
}

/// The function that looks after other threads, where it is one.
fn of_threads(manifest: &ToolManifest, children: &Arc<Handle>) -> Option<Behind> {
    let function = function_of(manifest)?;
    let (tool, effect) = thread_tool(function, children)?;
    Some(Behind::within(tool, effect, function))
}

/// Holds the tool, and the function that its manifest puts behind it, against what the operator's policy allows and
/// the manifest's signer may grant: with a limit there, nobody turns a tool that reads into one that writes, and nobody
/// starts a program who could not grant a shell.
fn vouch(
    item: &Item<ToolManifest>,
    policy: &[Layer],
    capability: &Capability,
    function: Option<&str>,
) -> Result<(), String> {
    let signer =
        of_signer(policy, item.content.provenance()).map_err(|error| with_causes(&error))?;
    let behind = function
        .map(|function| Capability::new(Primary::Execute, Kind::Tool, &format!("rye/{function}")))
        .transpose()
        .map_err(|error| error.to_string())?;
    for capability in std::iter::once(capability).chain(&behind) {
        signer.permit(capability).map(drop).map_err(|denied| denied.to_string())?;
    }
    Ok(())
}

/// The item id that an id means, which is another one for an alias.
pub(crate) fn tool_id(id: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == id).map_or(id, |(_, tool)| tool)
}

/// The other ids that a shipped tool answers to; what is authorised is always the tool itself.
fn aliases(id: &str) -> Vec<&'static str> {
    ALIASES.iter().filter(|(_, tool)| *tool == id).map(|(alias, _)| *alias).collect()
}

/// Alias and tool (SPEC 5.5).
const ALIASES: [(&str, &str); 5] = [
    ("fs_read", "rye/file-system/read"),
    ("fs_write", "rye/file-system/write"),
    ("rye/bash", "rye/bash/bash"),
    ("rye/file-system/fs_read", "rye/file-system/read"),
    ("rye/file-system/fs_write", "rye/file-system/write"),
];
