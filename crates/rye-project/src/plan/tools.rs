//! The tools that a thread is offered: those of the spaces that its authority covers.

use std::fmt;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Invocation, Kind, Layer, Primary};
use rye_parse::{Executor, ToolManifest};
use rye_resolve::{Item, ItemId, Library, Listed};
use rye_thread::{
    AuthorisedCall, DIRECTIVE_RETURN, Palette, PaletteEntry, PaletteError, THREAD_DIRECTIVE, Tool,
    ToolOutput, ToolSpec, WithheldTool,
};
use rye_tools::fs::Root;
use rye_types::{Effect, ItemKind};
use serde_json::json;

use super::authority::{of_signer, return_capability};
use super::backend::Backend;
use super::creating::creating_tool;
use super::error::PrepareError;
use super::functions::{invocation, starts_threads};
use super::programs::{Programs, backend};
use super::tree_access::{TreeAccess, tree_tool};
use super::web::{Reach, http_backend};
use crate::aliases::{aliases, tool_id};
use crate::causes::with_causes;
use crate::config::is_provider;
use crate::shipped::shipped_files;

/// The palette, and the tools that are granted but cannot be offered, each with the reason.
#[derive(Debug)]
#[non_exhaustive]
pub struct Offer {
    /// The tools that are offered.
    pub palette: Palette,
    /// The tools that are granted and cannot be offered, each with the reason.
    pub withheld: Vec<Withheld>,
    /// The calls of all tools that the authority covers by their ids, be they offered or withheld.
    pub invocations: Vec<Invocation>,
    /// The most that the signer of each tool may grant, in the order of the invocations.
    pub signers: Vec<Authority>,
    /// The files of the offered tools, sorted by id.
    pub items: Vec<Item<ToolManifest>>,
    /// `true` if an offered tool starts programs.
    pub(crate) starts_programs: bool,
    /// `true` if an offered tool sends requests to other machines.
    pub(crate) reaches_web: bool,
    /// `true` if an offered tool belongs to an MCP server.
    pub(crate) uses_servers: bool,
}

/// A tool that is granted and cannot be offered.
///
/// Its `Display` is a sentence that names the tool and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Withheld {
    /// The tool.
    pub id: ItemId,
    sentence: String,
}

impl Withheld {
    fn new(id: &ItemId, reason: &str) -> Self {
        Self { id: id.clone(), sentence: format!("tool `{id}` is {reason}") }
    }

    /// Returns `true` if this is the capability of calling the tool.
    pub(crate) fn is(&self, capability: &Capability) -> bool {
        let own = Capability::new(Primary::Execute, Kind::Tool, self.id.as_str());
        own.is_ok_and(|own| own == *capability)
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// The surroundings that tools are offered from.
pub(crate) struct Offering<'a> {
    pub(crate) library: &'a Library,
    /// The operator's and the project's layers, which `authority` has too.
    pub(crate) policy: &'a [Layer],
    pub(crate) authority: &'a Authority,
    /// The folder that tools of files are confined to.
    pub(crate) root: &'a Root,
    pub(crate) programs: &'a Programs,
    pub(crate) reach: &'a Reach,
    /// The capabilities of which each use waits for a decision.
    pub(crate) asked: &'a Grant,
    /// The one tool to look at; all of them when not given.
    pub(crate) only: Option<&'a ItemId>,
    /// The access of the tools to the tree of the thread.
    pub(crate) tree: &'a Arc<dyn TreeAccess>,
}

/// Offers every tool that the authority covers.
///
/// # Errors
///
/// When a covered tool is refused or broken: a tool that does not verify is never just left out.
pub(crate) fn offer(from: &Offering<'_>) -> Result<Offer, PrepareError> {
    let mut entries = Vec::new();
    let mut withheld = Vec::new();
    let mut problems = Vec::new();
    let mut items = Vec::new();
    let mut known = Vec::new();
    let mut needed = Needs::default();
    let tools = from.library.list(ItemKind::Tool)?;
    for listed in &tools {
        let is_meant = from.only.is_none_or(|only| *only == listed.id);
        let Some(capability) = covered_capability(&listed.id, from.authority).filter(|_| is_meant)
        else {
            continue;
        };
        if let Some(reason) = unusable_id(&listed.id, &capability, &tools) {
            let reason = format!("not offered: {reason}; rename it");
            withheld.push(Withheld::new(&listed.id, &reason));
            continue;
        }
        match from.library.tool(&listed.id) {
            Ok(item) => match from.tool(&item, &mut known) {
                Ok((entry, needs)) => {
                    needed = needed.and(needs);
                    entries.push(entry.asking_for(from.asked));
                    items.push(item);
                }
                Err(reason) => {
                    let reason = format!("granted but not offered: {reason}");
                    withheld.push(Withheld::new(&listed.id, &reason));
                }
            },
            Err(problem) => problems.push(problem),
        }
    }
    if let Some(error) = PrepareError::gather(problems) {
        return Err(error);
    }
    let palette = forking(Palette::new(entries)?, from)?;
    let palette = palette.with_withheld(tools.iter().filter_map(|listed| {
        let reason = withheld.iter().find(|it| it.id == listed.id).map(ToString::to_string);
        let invocation = known.iter().find(|(id, ..)| *id == listed.id).map(|(_, it, _)| it);
        let own = || Capability::new(Primary::Execute, Kind::Tool, listed.id.as_str()).ok();
        let invocation = invocation.cloned().or_else(|| Some(own()?.into()))?;
        Some(WithheldTool::new(listed.id.as_str(), invocation, reason))
    }));
    let known = known.into_iter().map(|(_, invocation, signer)| (invocation, signer));
    let (invocations, signers) = known.unzip();
    let Needs { programs: starts_programs, web: reaches_web, servers: uses_servers } = needed;
    Ok(Offer {
        palette,
        items,
        withheld,
        invocations,
        signers,
        starts_programs,
        reaches_web,
        uses_servers,
    })
}

/// Lets `rye_execute` start children where the authority may allow to execute a directive at all.
fn forking(palette: Palette, from: &Offering<'_>) -> Result<Palette, PaletteError> {
    if from.authority.closed_by(Primary::Execute, Kind::Directive).is_some() {
        return Ok(palette);
    }
    let spec = ToolSpec::new("", &FORK.description, FORK.input_schema.clone());
    palette.with_fork(spec, from.asked, Arc::clone(from.tree) as _)
}

/// The shipped tool whose arguments `rye_execute` takes for a directive.
static FORK: LazyLock<ToolManifest> = LazyLock::new(|| {
    let path = format!("tools/{THREAD_DIRECTIVE}.yaml");
    let file =
        shipped_files().iter().find(|file| file.path == path).expect("because it is shipped");
    rye_parse::tool(file.text, "yaml").expect("because the shipped items are tested")
});

/// The capability of running the tool, when it is one and the authority covers it.
fn covered_capability(id: &ItemId, authority: &Authority) -> Option<Capability> {
    if is_provider(id) || id.as_str() == DIRECTIVE_RETURN {
        return None;
    }
    let capability = Capability::new(Primary::Execute, Kind::Tool, id.as_str()).ok()?;
    authority.allows(&capability).then_some(capability)
}

/// Returns the reason why no tool of this id is offered, if there is one.
fn unusable_id(id: &ItemId, capability: &Capability, tools: &[Listed]) -> Option<String> {
    if *capability == return_capability() {
        return Some("its capability is the one of returning outputs".to_owned());
    }
    let meant = tool_id(id.as_str());
    if meant != id.as_str() {
        return Some(format!("its id is another name of `{meant}`"));
    }
    let other = namesake(id, tools.iter().map(|tool| &tool.id))?;
    Some(format!("its capability is the one of `{other}`"))
}

/// Returns the tool among `ids` that has the capability of the tool `id`, if `id` writes a slash as a dot.
///
/// A capability is an id with dots. Two tools of one capability could not be granted apart.
pub(crate) fn namesake<'a>(
    id: &ItemId,
    mut ids: impl Iterator<Item = &'a ItemId>,
) -> Option<&'a ItemId> {
    let dotted = |id: &ItemId| id.as_str().replace('/', ".");
    let name = id.as_str().contains('.').then(|| dotted(id))?;
    ids.find(|other| *other != id && dotted(other) == name)
}

/// The needs of a tool beside the project.
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

impl Offering<'_> {
    /// The tool as it is offered, and what it needs; its invocation is added to those that are known, offered or not.
    fn tool(
        &self,
        item: &Item<ToolManifest>,
        known: &mut Vec<(ItemId, Invocation, Authority)>,
    ) -> Result<(PaletteEntry, Needs), String> {
        let manifest = item.content.value();
        let invocation = invocation(&item.id, manifest)?;
        let signer = of_signer(self.policy, item.content.provenance());
        let signer = signer.map_err(|error| with_causes(&error))?;
        known.push((item.id.clone(), invocation.clone(), signer.clone()));
        self.vouch(&signer, &invocation)?;
        let id = item.id.as_str();
        let mut spec = ToolSpec::new("", &manifest.description, manifest.input_schema.clone());
        if item.content.as_verified().is_none() {
            // A draft is shown to a person, and no run offers it (SPEC D20).
            let entry = PaletteEntry::new(id, spec, invocation, Effect::Once, Arc::new(DraftTool));
            return Ok((entry.with_aliases(&aliases(id)), Needs::default()));
        }
        if starts_threads(manifest) {
            let children = Arc::clone(self.tree) as _;
            let entry = PaletteEntry::spawning(id, spec, invocation, children);
            return Ok((entry.with_aliases(&aliases(id)), Needs::default()));
        }
        let Backend { tool, effect, starts_programs, reaches_web, uses_servers } =
            self.backend(item)?;
        if let Some(schema) = &manifest.output_schema {
            spec = spec.with_output_schema(schema.clone());
        }
        let entry = PaletteEntry::new(id, spec, invocation, effect, tool);
        let needs = Needs { programs: starts_programs, web: reaches_web, servers: uses_servers };
        Ok((entry.with_aliases(&aliases(id)), needs))
    }

    /// The backend of the manifest.
    fn backend(&self, item: &Item<ToolManifest>) -> Result<Backend, String> {
        let manifest = item.content.value();
        let special =
            of_tree(manifest, self.tree).or_else(|| of_items(manifest, self.library, self.root));
        match special.map(Ok).or_else(|| http_backend(manifest, self.reach.web.as_ref())) {
            Some(special) => special,
            None => backend(item, self.root, self.programs, self.policy),
        }
    }

    /// Holds the tool, and the functions that its manifest puts behind it, against the authority and what the manifest's signer
    /// may grant. No signer turns a tool that reads into one that writes, or starts a program without being able to grant a
    /// shell.
    fn vouch(&self, signer: &Authority, invocation: &Invocation) -> Result<(), String> {
        let permits = [signer, self.authority].map(|authority| authority.permit(invocation));
        permits.into_iter().try_for_each(|permit| permit.map(drop)).map_err(|it| it.to_string())
    }
}

/// A tool that is a draft. Nothing of it can be called.
struct DraftTool;

#[async_trait]
impl Tool for DraftTool {
    async fn call(&self, _: AuthorisedCall) -> ToolOutput {
        let reason = "its file changed since you signed it; sign it again with `rye sign`";
        ToolOutput::refusal(json!({ "error": reason }))
    }
}

/// The function of this program behind a manifest.
fn function_of(manifest: &ToolManifest) -> Option<&str> {
    match &manifest.executor {
        Executor::Builtin { function, .. } => Some(function),
        _ => None,
    }
}

/// The function that looks after other threads, where it is one.
fn of_tree(manifest: &ToolManifest, tree: &Arc<dyn TreeAccess>) -> Option<Backend> {
    let (tool, effect) = tree_tool(function_of(manifest)?, tree)?;
    Some(Backend::in_process(tool, effect))
}

/// The function that creates items, where it is that one.
fn of_items(manifest: &ToolManifest, library: &Library, root: &Root) -> Option<Backend> {
    let (tool, effect) = creating_tool(function_of(manifest)?, library, root)?;
    Some(Backend::in_process(tool, effect))
}
