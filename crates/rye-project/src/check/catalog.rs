//! The items of all spaces that a reference may name, gathered once for many files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rye_caps::risk::{Finding as RiskFinding, RiskTable};
use rye_caps::{Capability, Grant, Invocation, Layer, Pattern};
use rye_files::read_plain;
use rye_parse::{
    ContextContent, Directive, Knowledge, Model, ParseError, PlacedTool, ToolManifest,
};
use rye_providers::ProviderConfig;
use rye_resolve::{
    ExtendsChain, FilePath, ItemId, Listed, Location, PlacedHook, ResolveError, Space,
    StatedLimits, StatedModel, extending_hook,
};
use rye_thread::{ArgumentSchema, DIRECTIVE_RETURN};
use rye_types::ItemKind;
use serde_json::Value;

use super::Finding;
use super::signature::Signature;
#[cfg(feature = "mcp")]
use crate::Lock;
use crate::aliases::tool_id;
use crate::causes::with_causes;
use crate::config::{
    ConfiguredLimits, RESILIENCE_FILE, RISK_FILE, SERVERS_FILE, risk_table, thread_limits,
};
use crate::place::LONGEST_FILE;
use crate::plan::{ceilings, provider_config, provider_of};
use crate::project::Project;

/// The ids of all spaces, and the directives and tools that were read of them, each once.
pub(super) struct Catalog<'a> {
    pub(super) project: &'a Project,
    knowledge: HashMap<ItemId, CatalogItem>,
    tools: HashMap<ItemId, CatalogItem>,
    directives: HashMap<ItemId, CatalogItem>,
    /// The ids of each kind with dots for slashes, as permissions have them.
    dotted: OnceLock<HashSet<(ItemKind, String)>>,
    /// The problem of each file that shares its id with another file of its space.
    ambiguous: HashMap<PathBuf, String>,
    /// The other id of each file whose id differs from it only in case.
    in_other_case: HashMap<PathBuf, ItemId>,
    /// The hooks of the hooks files, or why they cannot be had.
    pub(super) hooks: Result<Vec<PlacedHook>, String>,
    /// The most that the signer of each hooks file may grant.
    hooks_bounds: HashMap<PathBuf, Vec<Layer>>,
    /// The risk table, or why it cannot be had.
    pub(super) risk: Result<RiskTable, String>,
    /// The limits of a thread whose directive states none. Where they cannot be had, every run is refused.
    pub(super) limits: ConfiguredLimits,
    /// The names of the MCP servers; none where a file that may name some cannot be read.
    pub(super) servers: Option<BTreeSet<String>>,
    /// The project's lock; none where there is none that can be read.
    #[cfg(feature = "mcp")]
    pub(super) lock: Option<Lock>,
    /// The risk of each pattern that was asked for, by its text, where nothing is acknowledged.
    risks: Mutex<HashMap<String, Option<Arc<RiskFinding>>>>,
    /// The configuration of each provider by what `<model>` names, as far as it can be had.
    providers: Mutex<HashMap<Option<String>, Option<Arc<ProviderConfig>>>>,
    /// The plain files that directives of the project take into their context, by their ids as knowledge.
    files: OnceLock<HashMap<ItemId, ContextFile>>,
    heirs: OnceLock<HashSet<ItemId>>,
    invocations: OnceLock<BTreeMap<String, Vec<Invocation>>>,
}

/// An item of the spaces, read when it is first asked for.
#[derive(Debug)]
struct CatalogItem {
    /// The place of the file; `None` for an id that several files share.
    location: Option<Location>,
    loaded: OnceLock<Loaded>,
    /// The checker of a tool's arguments; `None` if the tool's schema is invalid.
    arguments: OnceLock<Option<ArgumentSchema>>,
    signature: OnceLock<Signature>,
}

/// A plain file of the project that a directive takes into its context (SPEC 17.3).
pub(super) struct ContextFile {
    /// The place of the file.
    path: PathBuf,
    /// Its signature, or the reason why it cannot be read; one that is missing is [`ResolveError::NotFound`].
    signature: Result<Signature, ResolveError>,
}

/// A file as it was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) source: String,
    /// The reason why the file has no text, and the place in the source that stands for it.
    pub(super) fault: Option<Fault>,
    /// The parsed content of the text.
    pub(super) content: Content,
}

/// The parsed content of a file, if it is needed more than once.
#[derive(Debug)]
pub(super) enum Content {
    Directive(Result<Box<Directive>, ParseError>),
    Knowledge(Result<Box<Knowledge>, ParseError>),
    /// A tool, or the configuration of a provider, which is no tool and lies among them.
    Tool(Result<Box<PlacedTool>, ParseError>),
    /// Configuration, or no text.
    Other,
}

/// A problem with the bytes of a file.
#[derive(Debug)]
pub(super) enum Fault {
    /// They are no UTF-8 text from this place on.
    NotText { at: usize, told: String },
    /// The system does not give them.
    Unreadable(String),
}

/// The reason why the chain of a directive ends too early.
pub(super) enum Break {
    /// A link names what no space has.
    Missing { child: ItemId, parent: ItemId },
    /// A link is there and cannot be read.
    Unreadable { parent: ItemId },
    /// A link repeats; the chain as it was walked.
    Circular(Vec<ItemId>),
    /// There are more links than a chain may have.
    TooLong,
}

/// A directive with what it extends, as far as that can be followed.
pub(super) struct Chain<'c> {
    /// Leaf first.
    pub(super) links: Vec<(&'c ItemId, &'c Directive)>,
    /// The `resolve_extends` hook that says what the leaf extends.
    pub(super) extended_by: Option<&'c PlacedHook>,
    pub(super) broken: Option<Break>,
}

impl<'c> Chain<'c> {
    /// The `<model>` that the directive states or inherits.
    pub(super) fn model(&self) -> Option<StatedModel<'c>> {
        StatedModel::nearest(self.links.iter().copied())
    }

    /// The limits that the directive states or inherits.
    pub(super) fn limits(&self) -> StatedLimits<'c> {
        StatedLimits::nearest(self.links.iter().copied())
    }

    /// The place in the leaf that stands for what it extends: its name where a hook says that.
    pub(super) fn extends_place(&self) -> Range<usize> {
        match (self.links.first(), self.extended_by) {
            (Some((_, Directive { extends: Some(extends), .. })), None) => extends.span.clone(),
            (leaf, _) => leaf.map_or(0..0, |(_, leaf)| leaf.name.span.clone()),
        }
    }

    /// The links that declare `<permissions>`, the nearest first.
    pub(super) fn declaring(&self) -> impl Iterator<Item = (&'c ItemId, &'c Directive)> + '_ {
        self.links.iter().copied().filter(|(_, link)| link.permissions.is_some())
    }
}

impl<'a> Catalog<'a> {
    pub(super) fn of(project: &'a Project) -> Self {
        let mut catalog = Self {
            project,
            knowledge: HashMap::new(),
            tools: HashMap::new(),
            directives: HashMap::new(),
            dotted: OnceLock::new(),
            ambiguous: HashMap::new(),
            in_other_case: HashMap::new(),
            hooks: project.library.config_hooks().map_err(|error| with_causes(&error)),
            hooks_bounds: HashMap::new(),
            risk: risk(project),
            limits: configured_limits(project),
            servers: servers(project),
            #[cfg(feature = "mcp")]
            lock: lock(project),
            risks: Mutex::default(),
            providers: Mutex::default(),
            files: OnceLock::new(),
            heirs: OnceLock::new(),
            invocations: OnceLock::new(),
        };
        ItemKind::ALL.iter().copied().for_each(|kind| catalog.list(kind));
        for hook in catalog.hooks.iter().flatten() {
            let bounds = catalog.hooks_bounds.entry(hook.location.path.clone());
            bounds.or_insert_with(|| ceilings(&hook.provenance).unwrap_or_default());
        }
        catalog
    }

    fn list(&mut self, kind: ItemKind) {
        let survey = self.project.library.survey(kind);
        self.in_other_case.extend(in_other_case(&survey.items));
        for listed in survey.items {
            self.admit(kind, listed.id, Some(listed.location));
        }
        for problem in survey.problems {
            let message = problem.to_string();
            if let ResolveError::Ambiguous { id, files, .. } = problem {
                self.admit(kind, id, None);
                self.ambiguous.extend(files.into_iter().map(|file| (file.path, message.clone())));
            }
        }
    }

    fn admit(&mut self, kind: ItemKind, id: ItemId, location: Option<Location>) {
        let loaded = OnceLock::new();
        let arguments = OnceLock::new();
        let signature = OnceLock::new();
        let shelf = CatalogItem { location, loaded, arguments, signature };
        match kind {
            ItemKind::Directive => drop(self.directives.insert(id, shelf)),
            ItemKind::Knowledge => drop(self.knowledge.insert(id, shelf)),
            ItemKind::Tool => drop(self.tools.insert(id, shelf)),
            ItemKind::Config => {}
        }
    }

    /// Returns `true` if an item of this kind has the id, whatever is wrong with it, or if the program answers to it.
    pub(super) fn has(&self, kind: ItemKind, id: &ItemId) -> bool {
        match kind {
            ItemKind::Directive => self.directives.contains_key(id),
            ItemKind::Knowledge => self.knowledge.contains_key(id),
            ItemKind::Tool => {
                let is_alias = tool_id(id.as_str()) != id.as_str();
                is_alias || id.as_str() == DIRECTIVE_RETURN || self.tools.contains_key(id)
            }
            ItemKind::Config => true,
        }
    }

    /// The space of an item that is in one.
    pub(super) fn space(&self, kind: ItemKind, id: &ItemId) -> Option<Space> {
        Some(self.shelf(kind, id)?.1.location.as_ref()?.space)
    }

    /// The ids of a kind, sorted.
    pub(super) fn ids(&self, kind: ItemKind) -> Vec<&ItemId> {
        let mut ids: Vec<&ItemId> = match kind {
            ItemKind::Directive => self.directives.keys().collect(),
            ItemKind::Knowledge => self.knowledge.keys().collect(),
            ItemKind::Tool => self.tools.keys().collect(),
            ItemKind::Config => Vec::new(),
        };
        ids.sort_unstable();
        ids
    }

    /// Returns the problem of a file whose id another file also has.
    pub(super) fn ambiguity(&self, path: &Path) -> Option<&str> {
        self.ambiguous.get(path).map(String::as_str)
    }

    /// Returns the other id of a file whose id differs from it only in case.
    pub(super) fn in_other_case(&self, path: &Path) -> Option<&ItemId> {
        self.in_other_case.get(path)
    }

    /// Returns `true` if an item of this kind has the id, which is written with dots for slashes.
    pub(super) fn has_dotted(&self, kind: ItemKind, dotted: &str) -> bool {
        let dotted = (kind, dotted.replace('/', "."));
        let all = || {
            let kinds = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool].into_iter();
            let of = |kind| {
                self.ids(kind).into_iter().map(move |id| (kind, id.as_str().replace('/', ".")))
            };
            let returning = (ItemKind::Tool, DIRECTIVE_RETURN.replace('/', "."));
            kinds.flat_map(of).chain([returning]).collect()
        };
        self.dotted.get_or_init(all).contains(&dotted)
    }

    /// The file of an item whose signature does not hold, with the finding about it.
    pub(super) fn unverified_file(&self, kind: ItemKind, id: &ItemId) -> Option<(&Path, &Finding)> {
        let (path, signature) = self.signature(kind, id)?;
        Some((path, signature.finding()?))
    }

    /// The most that the signer of an item may grant.
    pub(super) fn bounds(&self, kind: ItemKind, id: &ItemId) -> &[Layer] {
        self.signature(kind, id).map_or(&[], |(_, signature)| signature.bounds())
    }

    /// The file of an item and its signature; none for shipped items, which the program vouches for.
    fn signature(&self, kind: ItemKind, id: &ItemId) -> Option<(&Path, &Signature)> {
        if let Some(file) = self.file(id) {
            return Some((&file.path, file.signature.as_ref().ok()?));
        }
        let (id, shelf) = self.shelf(kind, id)?;
        let location = shelf.location.as_ref().filter(|it| it.space != Space::Builtin)?;
        let source = &self.load_once(kind, id, shelf)?.source;
        let path = &location.path;
        let judge = || super::signature::judge(self.project, path, kind, id, source);
        Some((location.path.as_path(), shelf.signature.get_or_init(judge)))
    }

    /// The plain file that has the id as knowledge, if a directive of the project takes it into its context.
    fn file(&self, id: &ItemId) -> Option<&ContextFile> {
        id.file()?;
        self.files.get_or_init(|| self.files_of_context()).get(id)
    }

    /// The reason why a plain file that a directive of the project takes into its context cannot be read.
    pub(super) fn file_fault(&self, id: &ItemId) -> Option<&ResolveError> {
        self.file(id)?.signature.as_ref().err()
    }

    fn files_of_context(&self) -> HashMap<ItemId, ContextFile> {
        let of_project = |shelf: &CatalogItem| {
            shelf.location.as_ref().is_some_and(|it| it.space == Space::Project)
        };
        let ids: Vec<&ItemId> = self
            .directives
            .iter()
            .filter(|(_, shelf)| of_project(shelf))
            .map(|(id, _)| id)
            .collect();
        let named = crate::parallel::in_parallel(&ids, |id| {
            let (_, directive) = self.directive(id)?;
            let context = directive.context.iter().map(|entry| &entry.value);
            let paths = context.filter(|entry| entry.position.in_prompt().is_some());
            let paths = paths.filter_map(|entry| match &entry.content {
                ContextContent::File(path) => path.parse::<FilePath>().ok(),
                _ => None,
            });
            Some(paths.collect::<Vec<_>>())
        });
        let paths: BTreeSet<FilePath> = named.into_iter().flatten().flatten().collect();
        let judged = paths.into_iter().map(|path| {
            let project = self.project.library.spaces().project();
            let place = project.map(|project| path.in_project(project)).unwrap_or_default();
            let signature = super::signature::judge_file(self.project, &path);
            (ItemId::of_file(&path), ContextFile { path: place, signature })
        });
        judged.collect()
    }

    /// The signature of what was read at `path`, which is judged once where it is an item of the spaces.
    pub(super) fn signature_of(
        &self,
        path: &Path,
        (kind, id): (ItemKind, &ItemId),
        loaded: &Loaded,
    ) -> Cow<'_, Signature> {
        let is_item = |shelved: &Loaded| std::ptr::eq(shelved, loaded);
        let known = self.at(kind, id, path).filter(|shelved| is_item(shelved));
        match known.and_then(|_| self.signature(kind, id)) {
            Some((_, signature)) => Cow::Borrowed(signature),
            None => {
                Cow::Owned(super::signature::judge(self.project, path, kind, id, &loaded.source))
            }
        }
    }

    /// The most that the signer of the file of a hook may grant.
    pub(super) fn bounds_of_hook(&self, hook: &PlacedHook) -> &[Layer] {
        self.hooks_bounds.get(&hook.location.path).map_or(&[], Vec::as_slice)
    }

    /// The text of the item `id` where it lies at `path`, which is read at most once.
    pub(super) fn at(&self, kind: ItemKind, id: &ItemId, path: &Path) -> Option<&Loaded> {
        let (_, shelf) = self.shelf(kind, id)?;
        shelf.location.as_ref().filter(|location| location.path == path)?;
        self.load_once(kind, id, shelf)
    }

    /// The directive `id`; none where it is not there or cannot be read.
    pub(super) fn directive(&self, id: &ItemId) -> Option<(&ItemId, &Directive)> {
        let (id, shelf) = self.shelf(ItemKind::Directive, id)?;
        Some((id, self.load_once(ItemKind::Directive, id, shelf)?.directive()?))
    }

    /// The manifest of the tool `id`; none where it is not there or cannot be read.
    pub(super) fn tool(&self, id: &ItemId) -> Option<&ToolManifest> {
        let (id, shelf) = self.shelf(ItemKind::Tool, id)?;
        match &self.load_once(ItemKind::Tool, id, shelf)?.content {
            Content::Tool(tool) => tool.as_ref().ok().map(|tool| &tool.manifest),
            _ => None,
        }
    }

    /// The tool whose id is written with dots for slashes, as permissions have it.
    pub(super) fn tool_of_dotted(&self, dotted: &str) -> Option<(&ItemId, &ToolManifest)> {
        let id: ItemId = dotted.replace('.', "/").parse().ok()?;
        let is_meant = |known: &&ItemId| known.as_str().replace('/', ".") == dotted;
        let (id, _) = self.tools.get_key_value(&id).or_else(|| {
            let known = self.tools.keys().find(is_meant)?;
            self.tools.get_key_value(known)
        })?;
        Some((id, self.tool(id)?))
    }

    /// The input schema of the tool `id`, and the same compiled; none where the tool or its schema cannot be used.
    pub(super) fn input_schema(&self, id: &ItemId) -> Option<(&Value, &ArgumentSchema)> {
        let (_, shelf) = self.shelf(ItemKind::Tool, id)?;
        let schema = &self.tool(id)?.input_schema;
        let build = || ArgumentSchema::new(schema).ok();
        Some((schema, shelf.arguments.get_or_init(build).as_ref()?))
    }

    fn shelf(&self, kind: ItemKind, id: &ItemId) -> Option<(&ItemId, &CatalogItem)> {
        match kind {
            ItemKind::Directive => self.directives.get_key_value(id),
            ItemKind::Tool => self.tools.get_key_value(id),
            ItemKind::Knowledge => self.knowledge.get_key_value(id),
            ItemKind::Config => None,
        }
    }

    fn load_once<'s>(
        &self,
        kind: ItemKind,
        id: &ItemId,
        shelf: &'s CatalogItem,
    ) -> Option<&'s Loaded> {
        let location = shelf.location.as_ref()?;
        Some(shelf.loaded.get_or_init(|| self.load(kind, id, location)))
    }

    fn load(&self, kind: ItemKind, id: &ItemId, location: &Location) -> Loaded {
        let library = &self.project.library;
        if let Some(text) = library.text_to_be(&location.path) {
            return Loaded::of(text.to_owned(), kind, &location.path);
        }
        if location.space != Space::Builtin {
            return Loaded::read(&location.path, |_| kind);
        }
        match library.text(kind, id) {
            Ok(item) => Loaded::of(item.source, kind, &location.path),
            Err(error) => Loaded::faulty(String::new(), Fault::Unreadable(with_causes(&error))),
        }
    }

    /// The configuration of the provider that a run of a directive with this `<model>` asks; none where it cannot be had.
    pub(super) fn provider(&self, model: &Model) -> Option<Arc<ProviderConfig>> {
        let library = self.project.library();
        let named = model.provider.as_ref().map(|named| named.value.clone());
        let mut known = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let (_, config) = provider_config(library, &provider_of(library, model)?).ok()?;
            Some(Arc::new(config))
        };
        known.entry(named).or_insert_with(read).clone()
    }

    /// Follows what `leaf` extends by itself or by a hook.
    pub(super) fn chain<'c>(&'c self, id: &'c ItemId, leaf: &'c Directive) -> Chain<'c> {
        let hooks = self.hooks.as_ref().map_or(&[][..], Vec::as_slice);
        let extended_by = extending_hook(hooks, id, leaf);
        let mut chain = Chain { links: vec![(id, leaf)], extended_by, broken: None };
        let by_hook = extended_by.and_then(|hook| hook.extends.as_deref());
        let mut next = match by_hook {
            Some(extends) => extends.parse().ok(),
            None => parent(leaf),
        };
        while let (Some(parent), Some((child, _))) = (next, chain.links.last().copied()) {
            let mut walked: Vec<ItemId> = chain.links.iter().map(|(id, _)| (*id).clone()).collect();
            let is_circular = walked.contains(&parent);
            chain.broken = match self.directive(&parent) {
                _ if is_circular => {
                    walked.push(parent);
                    Some(Break::Circular(walked))
                }
                _ if walked.len() == ExtendsChain::MAX_LINKS => Some(Break::TooLong),
                Some(found) => {
                    chain.links.push(found);
                    next = self::parent(found.1);
                    continue;
                }
                None if self.has(ItemKind::Directive, &parent) => {
                    Some(Break::Unreadable { parent })
                }
                None => Some(Break::Missing { child: child.clone(), parent }),
            };
            return chain;
        }
        chain
    }

    /// The calls of all tools that can be read and that stand for a function of another risk than the tool by its id, by the text of
    /// their capability. The other calls change nothing of the risk of a permission.
    pub(super) fn other_risk_invocations(
        &self,
        table: &RiskTable,
    ) -> &BTreeMap<String, Vec<Invocation>> {
        let risk = |capability: &Capability| table.classify_capability(capability).risk;
        let is_other = |call: &Invocation| {
            let own = risk(call.item());
            call.functions().iter().any(|function| risk(function) != own)
        };
        self.invocations.get_or_init(|| {
            let tools: Vec<&ItemId> = self.tools.keys().collect();
            let found = crate::parallel::in_parallel(&tools, |id| {
                crate::plan::invocation(id, self.tool(id)?).ok().filter(is_other)
            });
            // Two ids may have one capability, as `a/b` and `a.b` do.
            let mut calls: BTreeMap<String, Vec<Invocation>> = BTreeMap::new();
            for call in found.into_iter().flatten() {
                calls.entry(call.item().as_str().to_owned()).or_default().push(call);
            }
            calls
        })
    }

    /// The risk of a pattern where nothing is acknowledged. The functions behind the calls that it allows may raise it. Many directives
    /// have the same patterns.
    pub(super) fn risk_of(&self, table: &RiskTable, pattern: &Pattern) -> Option<Arc<RiskFinding>> {
        let risks = || self.risks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = risks().get(pattern.as_str()) {
            return known.clone();
        }
        let grant: Grant = std::iter::once(pattern.clone()).collect();
        let others = self.other_risk_invocations(table);
        let granted_calls: Vec<Invocation> = match pattern.as_str().contains(['*', '?', '[']) {
            true => {
                let calls = others.values().flatten();
                calls.filter(|it| pattern.matches(it.item())).cloned().collect()
            }
            false => others.get(pattern.as_str()).cloned().unwrap_or_default(),
        };
        let found = table.assess(&grant, &granted_calls, &[]).pop().map(Arc::new);
        risks().insert(pattern.as_str().to_owned(), found.clone());
        found
    }

    /// Returns `true` if a directive that declares no permissions takes on those of `id`.
    pub(super) fn has_heirs(&self, id: &ItemId) -> bool {
        self.heirs.get_or_init(|| self.inheriting_directives()).contains(id)
    }

    fn inheriting_directives(&self) -> HashSet<ItemId> {
        let ids: Vec<&ItemId> = self.directives.keys().collect();
        let found = crate::parallel::in_parallel(&ids, |id| {
            let (id, leaf) = self.directive(id)?;
            let undeclared = leaf.permissions.is_none().then(|| self.chain(id, leaf))?;
            undeclared.declaring().next().map(|(id, _)| id.clone())
        });
        found.into_iter().flatten().collect()
    }
}

/// The files of one space whose ids differ only in case, each with the id of another one.
fn in_other_case(items: &[Listed]) -> Vec<(PathBuf, ItemId)> {
    let mut alike: HashMap<(Space, String), Vec<&Listed>> = HashMap::new();
    for listed in items {
        let key = (listed.location.space, listed.id.as_str().to_ascii_lowercase());
        alike.entry(key).or_default().push(listed);
    }
    let groups = alike.into_values().filter(|group| group.len() > 1);
    let pairs = groups.flat_map(|group| {
        let others: Vec<&Listed> = group.iter().skip(1).chain(group.first()).copied().collect();
        let pair =
            |(listed, other): (&Listed, &Listed)| (listed.location.path.clone(), other.id.clone());
        group.into_iter().zip(others).map(pair).collect::<Vec<_>>()
    });
    pairs.collect()
}

impl Loaded {
    /// Reads a file, of a kind that may follow from its text.
    pub(super) fn read(path: &Path, kind: impl FnOnce(&str) -> ItemKind) -> Self {
        match read_plain(path, LONGEST_FILE) {
            Ok(bytes) => Self::of_bytes(bytes, kind, path),
            Err(error) => Self::faulty(String::new(), Fault::Unreadable(error.to_string())),
        }
    }

    /// The text that the bytes of the file at `path` are.
    pub(super) fn of_bytes(
        bytes: Vec<u8>,
        kind: impl FnOnce(&str) -> ItemKind,
        path: &Path,
    ) -> Self {
        match rye_files::text(bytes) {
            Ok(source) => {
                let kind = kind(&source);
                Self::of(source, kind, path)
            }
            Err(error) => {
                let (at, told) = (error.valid, error.to_string());
                let source = String::from_utf8_lossy(&error.into_bytes()).into_owned();
                Self::faulty(source, Fault::NotText { at, told })
            }
        }
    }

    pub(super) fn of(source: String, kind: ItemKind, path: &Path) -> Self {
        let content = match kind {
            ItemKind::Directive => Content::Directive(rye_parse::directive(&source).map(Box::new)),
            ItemKind::Knowledge => {
                let read = match super::extension(path) {
                    "md" => rye_parse::knowledge,
                    _ => rye_parse::knowledge_yaml,
                };
                Content::Knowledge(read(&source).map(Box::new))
            }
            ItemKind::Tool => {
                let read = rye_parse::placed_tool(&source, super::extension(path));
                Content::Tool(read.map(Box::new))
            }
            ItemKind::Config => Content::Other,
        };
        Self { source, fault: None, content }
    }

    fn faulty(source: String, fault: Fault) -> Self {
        Self { source, fault: Some(fault), content: Content::Other }
    }

    /// The directive, where the text is one.
    pub(super) fn directive(&self) -> Option<&Directive> {
        match &self.content {
            Content::Directive(directive) => directive.as_deref().ok(),
            _ => None,
        }
    }
}

fn parent(link: &Directive) -> Option<ItemId> {
    link.extends.as_ref()?.value.parse().ok()
}

fn risk(project: &Project) -> Result<RiskTable, String> {
    let config = project.library.config(RISK_FILE).map_err(|error| with_causes(&error))?;
    risk_table(config.as_ref()).map_err(|error| error.to_string())
}

fn configured_limits(project: &Project) -> ConfiguredLimits {
    let config = project.library.config(RESILIENCE_FILE).ok().flatten();
    thread_limits(config.as_ref()).unwrap_or_default()
}

/// The MCP servers that files of all spaces name, signed or not: a manifest is about one of them before it is signed, too.
fn servers(project: &Project) -> Option<BTreeSet<String>> {
    let id: ItemId = SERVERS_FILE.parse().ok()?;
    let located = match project.library.locate(ItemKind::Config, &id) {
        Ok(located) => located,
        Err(ResolveError::NotFound { .. }) => return Some(BTreeSet::new()),
        Err(_) => return None,
    };
    let mut servers = BTreeSet::new();
    for location in std::iter::once(&located.winner).chain(&located.shadowed) {
        let loaded = Loaded::read(&location.path, |_| ItemKind::Config);
        let config = rye_parse::config(&loaded.source, location.extension()).ok()?;
        let named = config.get("servers").and_then(Value::as_object);
        servers.extend(named.into_iter().flat_map(|named| named.keys().cloned()));
    }
    Some(servers)
}

/// Reads the project's lock of MCP servers; `None` without a project or if the lock cannot be read.
#[cfg(feature = "mcp")]
fn lock(project: &Project) -> Option<Lock> {
    let path = project.library.spaces().project()?.join(".ai/rye.lock");
    if !path.exists() {
        return Some(Lock::default());
    }
    String::from_utf8(read_plain(&path, LONGEST_FILE).ok()?).ok()?.parse().ok()
}
