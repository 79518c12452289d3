//! The plan of a run, made before a key, a clock or a record is needed. Nothing here is sent or
//! written.
//!
//! Running, explaining, comparing and locking a directive all begin here, so that they cannot disagree.

use std::sync::Arc;

use rye_caps::risk::{Acknowledgement, Finding, Verdict};
use rye_caps::{Authority, Grant, Invocation};
use rye_prompt::{SystemFacts, system};
use rye_resolve::{Config, ExtendsChain, Library, PlacedHook};
use rye_sandbox::Processes;
use rye_thread::{Hooks, Opening, OutputContract};
use rye_tools::fs::Root;

use super::authority::{authority, below, lessened_by_knowledge};
use super::calling::{DIRECTIVE as CALLING_DIRECTIVE, declared};
use super::contract::contract;
use super::error::PrepareError;
use super::facts::Vouched;
use super::limits::{SetLimits, limits};
use super::operations::{Directions, Structure, with_operations};
use super::programs::{Programs, programs};
use super::prompting::{Composed, Placing, composed, leaf, opened};
use super::provider::{Answerer, answerer, carries_out_steps};
use super::request::PlanRequest;
use super::tools::{Offer, Offering, offer};
use super::web::reach;
use crate::Rye;
use crate::config::{
    APPROVAL_FILE, HOOKS_FILE, RISK_FILE, asked, policy_layers, requests_at_once, risk_table,
};

/// A directive with everything that decides how its thread begins, except the provider.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) composed: Composed,
    pub(crate) contract: OutputContract,
    pub(crate) authority: Authority,
    /// The dangers of the declared grant, whether it is refused or not.
    pub(crate) findings: Vec<Finding>,
    /// Warnings about knowledge that lessens the authority.
    pub(crate) lessened: Vec<String>,
    pub(crate) offer: Offer,
    /// The capabilities of which each use waits for a decision.
    pub(crate) asked: Grant,
    /// The launcher of programs, if an offered tool needs one.
    pub(crate) processes: Option<Arc<Processes>>,
    pub(crate) limits: SetLimits,
    /// The number of threads of a tree that may wait for a provider at once.
    pub(crate) requests: usize,
    /// The hooks of the hooks files, in turn.
    pub(crate) placed: Vec<PlacedHook>,
    /// The hooks that act in the loop.
    pub(crate) hooks: Hooks,
    /// The configuration that decided on the rest.
    pub(crate) configs: Vec<Config>,
}

/// Resolves, verifies and composes everything that the directive refers to.
pub(crate) fn plan(rye: &Rye, request: &PlanRequest) -> Result<Plan, PrepareError> {
    let library = &rye.library;
    let composed = composed(library, &request.directive, &request.inputs)?;
    rye.refuse_widening(&composed.chain)?;
    let contract = contract(&composed.chain)?;
    let policy = policy_layers(rye.trust_config.as_ref())?;
    let lineage = request.lineage.as_deref();
    let declared = declared(&composed.chain, request.tool.as_ref())?;
    let own = authority(&policy, &composed, &contract, declared.clone())?;
    let authority = lineage.map_or(own.clone(), |lineage| below(lineage, &own));
    let lessened = lessened_by_knowledge(&authority, &composed.knowledge)?;
    let risk = library.config(RISK_FILE)?;
    let root = project_root(library)?;
    let approval = library.config(APPROVAL_FILE)?;
    let asked = asked(approval.as_ref())?;
    let programs = programs(rye)?;
    let reach = reach(rye)?;
    let mut offer = offer(&Offering {
        library,
        policy: &policy,
        authority: &authority,
        root: &root,
        programs: &programs,
        reach: &reach,
        asked: &asked,
        only: request.tool.as_ref(),
    })?;
    let findings = assess(risk.as_ref(), &composed.chain, &declared, &offer.invocations)?;
    let directions = directions(&contract, &composed, request);
    let (palette, children) = (offer.palette, &offer.children);
    offer.palette = with_operations(palette, rye, &authority, &asked, children, directions)?;
    let web = reach.config.filter(|_| offer.reaches_web);
    let servers = programs.servers_config().filter(|_| offer.uses_servers).cloned();
    let Programs { processes, config, .. } = programs;
    let (processes, config) =
        if offer.starts_programs { (processes, config) } else { (None, None) };
    let resilience = library.config("agent/resilience")?;
    let limits = limits(resilience.as_ref(), &composed.chain, &request.limits, lineage)?;
    let requests = requests_at_once(resilience.as_ref())?;
    let (placed, hooks_files) = (library.config_hooks()?, library.config(HOOKS_FILE)?);
    let hooks = composed.hooking.hooks(&composed, &asked)?;
    let configs =
        [rye.trust_config.clone(), approval, risk, config, servers, web, resilience, hooks_files];
    let configs = configs.into_iter().flatten().collect();
    Ok(Plan {
        composed,
        contract,
        authority,
        findings,
        lessened,
        offer,
        asked,
        processes,
        limits,
        requests,
        placed,
        hooks,
        configs,
    })
}

/// The project's folder, below which file tools work.
fn project_root(library: &Library) -> Result<Root, PrepareError> {
    let project = library.spaces().project().ok_or(PrepareError::NoProject)?;
    Root::open(project).map_err(PrepareError::Project)
}

/// The form in which a directive that a call executes is returned.
fn directions(contract: &OutputContract, composed: &Composed, request: &PlanRequest) -> Directions {
    let structure = match carries_out_steps(composed, &request.provider) {
        true => Structure::Planned,
        false => Structure::Text,
    };
    Directions { contract: contract.clone(), structure }
}

impl Plan {
    /// Why the directive may not run although it can be read: a grant that is too dangerous (SPEC 9.6).
    pub(crate) fn refusal(&self) -> Result<(), PrepareError> {
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

    /// Returns the warnings about the grant and the tools, which do not stop the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
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
        warned.chain(self.offer.withheld.iter().cloned()).collect()
    }

    /// Returns the provenance of every item outside the chain and its knowledge.
    pub(crate) fn vouched(&self, answerer: Option<&Answerer>) -> Vec<Vouched> {
        let provider = match answerer {
            Some(Answerer::Model(model)) => Some(Vouched::of(&model.item)),
            Some(Answerer::Steps(_)) | None => None,
        };
        let configs = self.configs.iter().flat_map(Vouched::of_layers);
        let instructions = self.composed.hooking.directives().iter().map(Vouched::of);
        let items = self.offer.items.iter().map(Vouched::of);
        items.chain(provider).chain(configs).chain(instructions).collect()
    }

    /// Returns the provider that the request chooses, or else the directive.
    pub(crate) fn answerer(
        &self,
        rye: &Rye,
        request: &PlanRequest,
    ) -> Result<Answerer, PrepareError> {
        answerer(&rye.library, &self.composed, request)
    }

    /// Returns the two texts that begin the thread, in the form for `answerer`, or in a neutral
    /// form without one.
    pub(crate) fn opening(
        &self,
        answerer: Option<&Answerer>,
        request: &PlanRequest,
    ) -> Result<Opening, PrepareError> {
        let (_, opening) = self.opened(answerer, request)?;
        Ok(Opening { system: opening.system, first_user_message: opening.first_user_message })
    }

    /// The same, behind the directive prompt alone.
    pub(crate) fn opened(
        &self,
        answerer: Option<&Answerer>,
        request: &PlanRequest,
    ) -> Result<(String, rye_prompt::Opening), PrepareError> {
        let style = request.returns.or(answerer.and_then(Answerer::returns)).unwrap_or_default();
        let template = answerer.and_then(|answerer| {
            answerer.system_template().map(|template| self.system(template, answerer))
        });
        opened(&self.composed, style, template.transpose()?.as_deref())
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
