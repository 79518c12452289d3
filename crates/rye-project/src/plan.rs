//! The plan of a run, made before a key, a clock or a record is needed. Nothing here is sent or
//! written.
//!
//! Running, explaining, comparing and locking a directive all begin here, so that they cannot disagree.

mod accepted;
mod authority;
mod backend;
mod called_items;
mod calling;
mod contract;
mod creating;
mod error;
mod functions;
mod hooking;
mod lacking;
mod limits;
mod locked;
mod operations;
mod prices;
mod programs;
mod prompting;
mod provenance;
mod provider;
mod request;
#[cfg(feature = "mcp")]
mod server_facts;
#[cfg(feature = "mcp")]
mod servers;
mod steps;
mod tools;
mod tree_access;
mod typing;
mod web;
mod widening;

use std::sync::Arc;

use rye_caps::risk::{Acknowledgement, Finding, Verdict};
use rye_caps::{Authority, Grant, Invocation, Layer};
use rye_parse::Directive;
use rye_prompt::{SystemFacts, system};
use rye_resolve::{Config, ExtendsChain, Item, ItemId, Library, PlacedHook, ResolveError};
use rye_sandbox::Processes;
use rye_sign::Provenance;
use rye_thread::{Hooks, Opening, OutputContract, ThreadId};
use rye_tools::fs::Root;
use rye_types::{ItemKind, LimitSet};

pub use self::accepted::accepted_digests;
pub use self::authority::{added_item, return_capability};
use self::authority::{authority, below, lessened_by_signers, narrow};
pub(crate) use self::authority::{ceilings, ceilings_of_key};
pub(crate) use self::backend::{parameters, template};
pub(crate) use self::called_items::{CALLED_ITEMS, holds_items};
use self::calling::declared_grant;
pub use self::calling::{CALLING_DIRECTIVE, CallError, ToolCall};
pub(crate) use self::contract::contract;
pub use self::error::PrepareError;
pub use self::functions::ways_of_calling;
pub(crate) use self::functions::{invocation, starts_threads};
pub use self::hooking::Hooking;
pub(crate) use self::hooking::{hook_action_problem, is_composed};
use self::lacking::Lacking;
pub use self::limits::limit_of_start;
use self::limits::limits;
pub use self::limits::{LimitSource, SetLimits};
pub use self::operations::directive_additions;
use self::operations::{Directions, Structure, with_operations};
pub use self::programs::sandbox_warning;
pub(crate) use self::programs::{Programs, programs};
pub use self::prompting::{Chained, Composed, resolve_chain};
pub(crate) use self::prompting::{compose_prompt, leaf, permissions, render_opening};
pub use self::provenance::ItemProvenance;
pub(crate) use self::provenance::{
    chain_drafts, chain_warnings, is_unvouched, row_and_provenance, weaknesses,
};
use self::provider::carries_out_steps;
pub use self::provider::{Answerer, DEFAULT_PROVIDER, Model};
pub(crate) use self::provider::{
    answerer, choice_problem, chosen_default, names_steps, provider_config, provider_of,
};
pub(crate) use self::request::STEPS;
pub use self::request::{
    ChildBounds, LimitOptions, Placing, PlanRequest, ProviderChoice, RecordedSettings,
};
#[cfg(feature = "mcp")]
pub(crate) use self::servers::{ServerFault, Servers, new_connections};
pub use self::tools::{Offer, Withheld};
pub(crate) use self::tools::{Offering, namesake, offer};
pub use self::tree_access::{NotDriven, TreeAccess, TreeFunction};
pub(crate) use self::typing::typed_by;
pub(crate) use self::web::{reach, request as request_of};
pub use self::widening::Widening;
pub(crate) use self::widening::widenings;
use self::widening::widenings_of_chain;
use crate::config::{
    APPROVAL_FILE, HOOKS_FILE, RESILIENCE_FILE, RISK_FILE, approval_patterns, meant_in_other_case,
    policy_layers, requests_at_once, risk_table,
};
use crate::project::Project;

/// A directive with everything that decides how its thread begins, except the provider.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The chain of the directive, with its context and its hooks.
    pub composed: Composed,
    /// The outputs that the thread has to return.
    pub contract: OutputContract,
    /// The layers that have to allow a call.
    pub authority: Authority,
    /// The dangers of the declared grant, whether it is refused or not.
    pub findings: Vec<Finding>,
    /// Warnings about items whose signers lessen the authority.
    lessened: Vec<String>,
    /// The tools that the authority covers.
    pub offer: Offer,
    /// The needs of the directive's steps that are granted and that the thread cannot have all the same.
    lacking: Lacking,
    /// The capabilities of which each use waits for a decision.
    pub asked: Grant,
    /// The launcher of programs, if an offered tool needs one.
    pub processes: Option<Arc<Processes>>,
    /// The limits of the thread.
    pub limits: SetLimits,
    /// The number of threads of a tree that may wait for a provider at once.
    pub requests: usize,
    /// The hooks of the hooks files, in turn.
    pub placed: Vec<PlacedHook>,
    /// The hooks that act in the loop.
    pub hooks: Hooks,
    /// The configuration that decided on the rest.
    pub configs: Vec<Config>,
    /// The configuration that a run reads and that decided on nothing, such as the servers where no tool of one is offered.
    read: Vec<Config>,
}

/// A plan that may run, with the provider that answers it and the texts that its thread begins with.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlannedRun {
    /// The plan.
    pub plan: Plan,
    /// The provider of the thread.
    pub answerer: Answerer,
    /// The texts that begin the thread, in the form for that provider.
    pub opening: Opening,
}

impl Project {
    /// Plans a thread that is to run.
    ///
    /// # Errors
    ///
    /// The method fails as [`plan`](Self::plan), [`Plan::refusal`], [`Plan::answerer`] and [`Plan::opening`] do, and with
    /// [`PrepareError::Drafts`] if the plan rests on a draft.
    pub fn plan_run(&self, request: &PlanRequest) -> Result<PlannedRun, PrepareError> {
        let plan = self.plan(request)?;
        plan.refusal()?;
        self.refuse_unlocked(request)?;
        let answerer = plan.answerer(self, request)?;
        plan.refuse_denied(&answerer)?;
        plan.refuse_drafts(Some(&answerer))?;
        let opening = plan.opening(Some(&answerer), request)?;
        Ok(PlannedRun { plan, answerer, opening })
    }

    /// Plans a thread: resolves, verifies and composes everything that the directive refers to.
    ///
    /// # Errors
    ///
    /// The method fails if an item of the directive cannot be found, verified or read.
    pub fn plan(&self, request: &PlanRequest) -> Result<Plan, PrepareError> {
        let library = &self.library;
        self.refuse_config_in_other_case()?;
        let composed = compose_prompt(library, &request.directive, &request.inputs)?;
        self.refuse_widening(&composed.chain)?;
        let contract = contract(&composed.chain)?;
        let policy = policy_layers(self.trust_config.as_ref())?;
        let child_bounds = request.child_bounds.as_deref();
        let declared = declared_grant(&composed.chain, request.tool.as_ref())?;
        let own = authority(&policy, &composed, &contract, declared.clone())?;
        let authority = child_bounds.map_or(own.clone(), |child_bounds| below(child_bounds, &own));
        let lessened = lessened_by_signers(&authority, &composed)?;
        let risk = library.config(RISK_FILE)?;
        let root = project_root(library)?;
        let approval = library.config(APPROVAL_FILE)?;
        let asked = approval_patterns(approval.as_ref())?;
        let offered = self.offer(request, &root, &policy, (&authority, &asked))?;
        let Offered { mut offer, processes, configs: [config, servers, web], read } = offered;
        let findings = assess(risk.as_ref(), &composed.chain, &declared, &offer.invocations)?;
        let directions = directions(self, &contract, &composed, request);
        offer.palette =
            with_operations(offer.palette, self, &authority, &asked, &request.tree, directions)?;
        let resilience = library.config(RESILIENCE_FILE)?;
        let limits = set_limits(request, resilience.as_ref(), &composed.chain)?;
        let held = (&authority, &offer, beginning_limits(request, &limits));
        let lacking = Lacking::of(&composed, library, &declared, held);
        let requests = requests_at_once(resilience.as_ref())?;
        let (placed, hooks_files) = (library.config_hooks()?, library.config(HOOKS_FILE)?);
        let hooks = composed.hooking.hooks(&composed.chain, &composed.inputs, &asked)?;
        let configs = [self.trust_config.clone(), approval, risk, config, servers, web];
        let configs = configs.into_iter().chain([resilience, hooks_files]).flatten().collect();
        Ok(Plan {
            composed,
            contract,
            authority,
            findings,
            lessened,
            offer,
            lacking,
            asked,
            processes,
            limits,
            requests,
            placed,
            hooks,
            configs,
            read,
        })
    }

    /// Offers the tools that the authority covers, with what they need.
    fn offer(
        &self,
        request: &PlanRequest,
        root: &Root,
        policy: &[Layer],
        (authority, asked): (&Authority, &Grant),
    ) -> Result<Offered, PrepareError> {
        let programs = programs(self)?;
        let reach = reach(self)?;
        let offer = offer(&Offering {
            library: &self.library,
            policy,
            authority,
            root,
            programs: &programs,
            reach: &reach,
            asked,
            only: request.tool.as_ref(),
            tree: &request.tree,
        })?;
        let read = [programs.servers_config(), reach.config.as_ref(), programs.config.as_ref()];
        let read = read.into_iter().flatten().cloned().collect();
        let web = reach.config.filter(|_| offer.reaches_web);
        let servers = programs.servers_config().filter(|_| offer.uses_servers).cloned();
        let Programs { processes, config, .. } = programs;
        let (processes, config) =
            if offer.starts_programs { (processes, config) } else { (None, None) };
        Ok(Offered { offer, processes, configs: [config, servers, web], read })
    }

    /// Refuses configuration whose name differs from the one that is read only in case: what it says would have no effect.
    ///
    /// # Errors
    ///
    /// [`PrepareError::ConfigInOtherCase`] with the first such file.
    pub fn refuse_config_in_other_case(&self) -> Result<(), PrepareError> {
        let survey = self.library.survey(ItemKind::Config);
        let mut folders = survey.problems.into_iter();
        if let Some(folder) = folders.find(|it| matches!(it, ResolveError::OtherCase { .. })) {
            return Err(folder.into());
        }
        let mut miscased = survey.items.into_iter().filter_map(|listed| {
            let meant = meant_in_other_case(&listed.id)?;
            Some(PrepareError::ConfigInOtherCase { path: listed.location.path, meant })
        });
        miscased.next().map_or(Ok(()), Err)
    }

    /// Refuses a chain that grants more toward its leaf, where the operator asked for that.
    pub(crate) fn refuse_widening(&self, chain: &ExtendsChain) -> Result<(), PrepareError> {
        if !self.strict_extends {
            return Ok(());
        }
        match widenings_of_chain(chain) {
            widenings if widenings.is_empty() => Ok(()),
            widenings => Err(PrepareError::Widening { id: chain.leaf().id.clone(), widenings }),
        }
    }
}

/// The tools of a plan, with what an offered tool needs.
struct Offered {
    offer: Offer,
    /// The launcher of programs.
    processes: Option<Arc<Processes>>,
    /// The configuration of programs, of MCP servers, and of requests.
    configs: [Option<Config>; 3],
    /// The same, whether a tool needs it or not.
    read: Vec<Config>,
}

/// The limits of the thread that the request is for.
fn set_limits(
    request: &PlanRequest,
    resilience: Option<&Config>,
    chain: &ExtendsChain,
) -> Result<SetLimits, PrepareError> {
    match &request.recorded {
        Some(recorded) => Ok(SetLimits::from_record(recorded.limits.clone())),
        None => limits(resilience, chain, &request.limits, request.child_bounds.as_deref()),
    }
}

/// The limits of a root thread that begins. A child gets what its parent has left, and ends by that where a directive starts itself; a
/// thread that goes on has some of its steps behind it.
fn beginning_limits<'l>(request: &PlanRequest, limits: &'l SetLimits) -> Option<&'l LimitSet> {
    let begins = request.child_bounds.is_none() && request.recorded.is_none();
    begins.then_some(&limits.limits)
}

/// The project's folder, below which file tools work.
fn project_root(library: &Library) -> Result<Root, PrepareError> {
    let project = library.spaces().project().ok_or(PrepareError::NoProject)?;
    Root::open(project).map_err(PrepareError::Project)
}

/// The form in which a directive that a call executes is returned.
fn directions(
    project: &Project,
    contract: &OutputContract,
    composed: &Composed,
    request: &PlanRequest,
) -> Directions {
    let structure = match carries_out_steps(composed, &request.provider()) {
        true => Structure::Planned,
        false => Structure::Text,
    };
    let locked_as = project.locked_directive(request).cloned();
    Directions { contract: contract.clone(), structure, locked_as }
}

impl Plan {
    /// Returns the request for the plan of a child, before the parent has used anything.
    #[must_use]
    pub fn child_request(&self, directive: ItemId) -> PlanRequest {
        let mut caps = self.limits.limits.clone();
        caps.depth = caps.depth.saturating_sub(1);
        let thread = ThreadId::new("explained", "00000000-0000-7000-8000-000000000000");
        let thread = thread.expect("because it is an id");
        let mut request = PlanRequest::new(directive);
        request.child_bounds = Some(Arc::new(ChildBounds {
            root: thread.clone(),
            parent: thread,
            authority: self.authority.clone(),
            tokens: Vec::new(),
            caps,
            share: None,
        }));
        request
    }

    /// Why the directive may not run although it can be read: a grant that is too dangerous (SPEC 9.6), or a tool that its
    /// steps need and that is not offered.
    ///
    /// # Errors
    ///
    /// [`PrepareError::Risk`] with the findings that refuse it, and [`PrepareError::Needs`].
    pub fn refusal(&self) -> Result<(), PrepareError> {
        self.refuse_risk()?;
        self.refuse_lacking(&self.lacking.withheld)
    }

    /// Refuses a directive whose steps need what the authority denies, before a model is asked. Without a model, the call itself is
    /// refused, which costs nothing.
    ///
    /// # Errors
    ///
    /// [`PrepareError::Needs`] with a sentence for each need.
    pub fn refuse_denied(&self, answerer: &Answerer) -> Result<(), PrepareError> {
        match answerer {
            Answerer::Model(_) => self.refuse_lacking(&self.lacking.denied),
            Answerer::Steps(_) => Ok(()),
        }
    }

    fn refuse_lacking(&self, lacking: &[String]) -> Result<(), PrepareError> {
        match lacking {
            [] => Ok(()),
            lacking => Err(PrepareError::Needs {
                id: self.composed.chain.leaf().id.clone(),
                lacking: lacking.to_vec(),
            }),
        }
    }

    fn refuse_risk(&self) -> Result<(), PrepareError> {
        let chain = &self.composed.chain;
        let blocked = self.findings.iter().filter(|finding| finding.verdict == Verdict::Block);
        let findings: Vec<Finding> = blocked.cloned().collect();
        match chain.declaring() {
            Some(declaring) if !findings.is_empty() => {
                Err(PrepareError::Risk { id: declaring.id.clone(), findings })
            }
            _ => Ok(()),
        }
    }

    /// Bounds the authority by the signer of an item that the thread goes on by, which `provenance` vouches for.
    ///
    /// # Errors
    ///
    /// The method fails if a trust document lists an invalid pattern for the key that signed the item.
    pub fn narrow(&mut self, provenance: &Provenance) -> Result<(), PrepareError> {
        self.authority = narrow(&self.authority, provenance, &self.contract)?;
        Ok(())
    }

    /// Returns a sentence for each item of the chain whose signer may grant less than the chain declares, and for each need of a
    /// step that is granted and denied all the same.
    pub fn denials(&self) -> impl Iterator<Item = &String> {
        self.lessened.iter().chain(&self.lacking.denied)
    }

    /// Returns the warnings about the grant and the tools, which do not stop the run.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warned = self.findings.iter().filter(|finding| finding.verdict == Verdict::Warn);
        let is_call = self.composed.chain.leaf().id.as_str() == CALLING_DIRECTIVE;
        let warned = warned.map(|finding| match is_call {
            // The operator names the tool, and the shipped directive has no `<permissions>` that could be changed.
            true => format!(
                "{}; `rye call` runs it all the same, and a directive that calls it accepts the risk in its `<permissions>`",
                finding.statement(),
            ),
            false => finding.to_string(),
        });
        let warned = warned.chain(self.lessened.iter().cloned());
        warned.chain(self.offer.withheld.iter().map(ToString::to_string)).collect()
    }

    /// Returns the provenance of every item outside the chain and its knowledge.
    #[must_use]
    pub fn provenances(&self, answerer: Option<&Answerer>) -> Vec<ItemProvenance> {
        let provider = match answerer {
            Some(Answerer::Model(model)) => Some(ItemProvenance::of(&model.item)),
            Some(Answerer::Steps(_)) | None => None,
        };
        let configs = self.configs.iter().flat_map(ItemProvenance::of_layers);
        let instructions = self.composed.hooking.directives().iter().map(ItemProvenance::of);
        let items = self.offer.items.iter().map(ItemProvenance::of);
        items.chain(provider).chain(configs).chain(instructions).collect()
    }

    /// Returns a sentence for each item that is a draft of the operator's, or unsigned (SPEC D20).
    #[must_use]
    pub fn drafts(&self, answerer: Option<&Answerer>) -> Vec<String> {
        self.weaknesses_of(answerer, is_unvouched)
    }

    /// Refuses a plan with a draft, which only a project that shows drafts makes.
    ///
    /// # Errors
    ///
    /// [`PrepareError::Drafts`] with a sentence for each draft.
    pub fn refuse_drafts(&self, answerer: Option<&Answerer>) -> Result<(), PrepareError> {
        let is_draft = |provenance: &Provenance| matches!(provenance, Provenance::Draft(_));
        match self.weaknesses_of(answerer, is_draft) {
            drafts if drafts.is_empty() => Ok(()),
            drafts => Err(PrepareError::Drafts { drafts }),
        }
    }

    fn weaknesses_of(
        &self,
        answerer: Option<&Answerer>,
        is_meant: impl Fn(&Provenance) -> bool,
    ) -> Vec<String> {
        let mut told = self.composed.weaknesses_of(&is_meant);
        let chosen = answerer.and_then(Answerer::chosen_by);
        let read = self.read.iter().chain(chosen).flat_map(ItemProvenance::of_layers);
        let items = self.provenances(answerer).into_iter().chain(read);
        for item in items.filter(|item| is_meant(&item.provenance)) {
            let weak = weaknesses(&item.provenance, &item.name).into_iter();
            let new: Vec<String> = weak.filter(|weakness| !told.contains(weakness)).collect();
            told.extend(new);
        }
        told
    }

    /// Returns the warnings about the items of the plan: claims that their places contradict, weak signatures,
    /// unsigned items, and skipped context.
    #[must_use]
    pub fn item_warnings(&self, answerer: Option<&Answerer>, project: &Project) -> Vec<String> {
        self.composed.item_warnings(&self.provenances(answerer), project)
    }

    /// Returns the directive that says how a conversation goes on after this one; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The method fails if the one that the directive names cannot be had.
    pub fn continuation_directive(
        &self,
        project: &Project,
    ) -> Result<Option<Item<Directive>>, PrepareError> {
        let leaf = self.composed.chain.leaf();
        let Some(id) = &leaf.content.value().continuation_directive else { return Ok(None) };
        let id: ItemId = id.value.parse().map_err(|source| {
            let kind = ItemKind::Directive;
            let text = id.value.clone();
            ResolveError::InvalidId { kind, text, source }
        })?;
        Ok(Some(project.library.directive(&id)?))
    }

    /// Returns the provider that the request chooses, or else the directive.
    ///
    /// # Errors
    ///
    /// The method fails if no provider can be had, and says why.
    pub fn answerer(
        &self,
        project: &Project,
        request: &PlanRequest,
    ) -> Result<Answerer, PrepareError> {
        answerer(&project.library, &self.composed, request)
    }

    /// Returns the two texts that begin the thread, in the form for `answerer`, or in a neutral
    /// form without one.
    ///
    /// # Errors
    ///
    /// The method fails if a text of the provider cannot be rendered.
    pub fn opening(
        &self,
        answerer: Option<&Answerer>,
        request: &PlanRequest,
    ) -> Result<Opening, PrepareError> {
        let (_, opening) = self.prompt_and_opening(answerer, request)?;
        Ok(Opening { system: opening.system, first_user_message: opening.first_user_message })
    }

    /// Returns the directive prompt alone, and the opening that it is part of.
    pub(crate) fn prompt_and_opening(
        &self,
        answerer: Option<&Answerer>,
        request: &PlanRequest,
    ) -> Result<(String, rye_prompt::Opening), PrepareError> {
        let style = request.returns.or(answerer.and_then(Answerer::returns)).unwrap_or_default();
        let template = answerer.and_then(|answerer| {
            answerer.system_template().map(|template| self.system(template, answerer))
        });
        render_opening(&self.composed, style, template.transpose()?.as_deref())
    }

    fn system(&self, template: &str, answerer: &Answerer) -> Result<String, PrepareError> {
        let Placing::Values(_) = self.composed.placing else { return Ok(template.to_owned()) };
        let specs = self.offer.palette.specs(&self.contract);
        let names: Vec<String> = specs.into_iter().map(|spec| spec.name).collect();
        let facts = SystemFacts {
            leaf: leaf(&self.composed.chain),
            inputs: &self.composed.inputs,
            tool_names: &names,
        };
        system(template, &facts).map_err(|source| PrepareError::Template {
            provider: answerer.name().to_owned(),
            source: Box::new(source),
        })
    }
}

/// Holds the declared grant against the risk table.
fn assess(
    config: Option<&Config>,
    chain: &ExtendsChain,
    declared: &Grant,
    invocations: &[Invocation],
) -> Result<Vec<Finding>, PrepareError> {
    let Some(declaring) = chain.declaring() else { return Ok(Vec::new()) };
    let table = risk_table(config)?;
    let rows =
        declaring.content.value().permissions.iter().flat_map(|block| &block.value.acknowledged);
    let (mut acknowledged, mut problems) = (Vec::new(), Vec::new());
    for row in rows {
        match Acknowledgement::new(&row.value.risk, &row.value.reason) {
            Ok(known) => acknowledged.push(known),
            Err(error) => problems.push(error),
        }
    }
    if !problems.is_empty() {
        return Err(PrepareError::Acknowledgement { id: declaring.id.clone(), problems });
    }
    Ok(table.assess(declared, invocations, &acknowledged))
}
