//! From the plan of a run to what each layer of its authority allows.

use std::collections::BTreeMap;

use rye_caps::risk::{Acknowledgement, Finding, RiskTable};
use rye_caps::{Grant, Layer, LayerName, Pattern};
use rye_project::{
    LibraryItems, Needs, Plan, PlanRequest, PrepareError, Project, chain_grant, needs_of,
    return_capability, risk_table, uses_as_written, with_causes,
};
use rye_resolve::Config;
use rye_sign::Provenance;
use rye_transcript::{Reading, ThreadRecord};
use rye_types::HookLayer;

use super::called::of_threads;
use super::{FindingsOf, LayerPrivileges, PatternPrivileges, Privileges};

pub(super) fn privileges(
    project: &Project,
    request: &PlanRequest,
    threads: &[(&ThreadRecord, &Reading)],
) -> Result<Privileges, PrepareError> {
    let plan = project.plan(request)?;
    let answerer = plan.answerer(project, request).ok();
    let drafts = plan.drafts(answerer.as_ref());
    Ok(Privileges { drafts, ..of_plan(project, &plan, threads)? })
}

/// The privileges of a directive whose run is planned already.
pub(crate) fn of_plan(
    project: &Project,
    plan: &Plan,
    threads: &[(&ThreadRecord, &Reading)],
) -> Result<Privileges, PrepareError> {
    let chain = &plan.composed.chain;
    let declared = chain_grant(chain)?;
    let table = table(project)?;
    let hooks = plan.composed.hooking.placed.iter().map(|placed| &placed.hook);
    let items = LibraryItems::of(project.library());
    let given = plan.composed.inputs.values();
    let mut needs = needs_of(chain.leaf().content.value(), given, hooks, &items);
    of_threads(threads, plan, &items, &mut needs);
    let uses = uses_as_written(&chain.grant()?, &needs);
    let Needs { needs, unjudged, .. } = needs;
    let grants = |layer: &Layer| of_layer(layer, plan, &table, &declared);
    Ok(Privileges {
        id: chain.leaf().id.clone(),
        declared_by: chain.declaring().map(|link| link.id.clone()),
        layers: plan.authority.layers().iter().map(grants).collect(),
        uses,
        redundant: declared.redundant(),
        denials: plan.denials().cloned().collect(),
        drafts: plan.drafts(None),
        refusal: plan.refusal().err().map(|error| with_causes(&error)),
        acknowledged: acknowledgements(plan),
        authority: plan.authority.clone(),
        asked: plan.asked.clone(),
        findings_of: FindingsOf(table),
        invocations: plan.offer.invocations.clone(),
        signers: plan.offer.signers.clone(),
        declared,
        needs,
        unjudged,
    })
}

fn table(project: &Project) -> Result<RiskTable, PrepareError> {
    let config: Option<Config> = project.library().config("agent/capability_risk")?;
    Ok(risk_table(config.as_ref())?)
}

/// Those that the plan accepted, or there would be none.
fn acknowledgements(plan: &Plan) -> Vec<Acknowledgement> {
    let declaring = plan.composed.chain.declaring();
    let permissions = declaring.and_then(|link| link.content.value().permissions.as_ref());
    let blocks = permissions.iter().flat_map(|block| &block.value.acknowledged);
    blocks
        .filter_map(|block| Acknowledgement::new(&block.value.risk, &block.value.reason).ok())
        .collect()
}

fn of_layer(layer: &Layer, plan: &Plan, table: &RiskTable, declared: &Grant) -> LayerPrivileges {
    let is_directive = matches!(layer.name(), LayerName::Directive(_));
    let returning = Pattern::exactly(&return_capability());
    let findings: BTreeMap<&str, &Finding> = if is_directive {
        plan.findings.iter().map(|finding| (finding.pattern.as_str(), finding)).collect()
    } else {
        BTreeMap::new()
    };
    let patterns = layer.grant().patterns().iter().map(|pattern| {
        let finding = findings.get(pattern.as_str()).map(|finding| (*finding).clone());
        let own = finding.as_ref().map(|finding| finding.classification.clone());
        PatternPrivileges {
            pattern: pattern.clone(),
            classification: own.unwrap_or_else(|| table.classify(pattern)),
            finding,
            returns_outputs: *pattern == returning
                && !(is_directive && declared.patterns().binary_search(pattern).is_ok()),
        }
    });
    let signed = match layer.name() {
        LayerName::Signer(key) => signed_by(key, plan),
        _ => Vec::new(),
    };
    LayerPrivileges { name: layer.name().clone(), signed, grants: patterns.collect() }
}

/// The items of the plan that the key signed, each once, in the order in which they bring their layers in.
fn signed_by(key: &str, plan: &Plan) -> Vec<String> {
    let is_signed = |provenance: &Provenance| matches!(provenance, Provenance::Signed(signature) | Provenance::Draft(signature) if signature.key_id().to_string() == key);
    let chain = &plan.composed.chain;
    let knowledge = &plan.composed.knowledge;
    let links = chain.root_first().filter(|link| is_signed(link.content.provenance()));
    let links = links.map(|link| format!("{} `{}`", link.kind, link.id));
    let hook = chain.extended_by().filter(|hook| is_signed(&hook.provenance));
    let hook = hook.map(|hook| format!("`{}`", hook.location));
    let items = knowledge.iter().filter(|item| is_signed(item.content.provenance()));
    let items = items.map(|item| format!("{} `{}`", item.kind, item.id));
    let acting = plan.composed.hooking.placed.iter().filter(|hook| is_signed(&hook.provenance));
    let acting = acting.filter(|hook| hook.layer != HookLayer::Directive);
    let acting = acting.map(|hook| format!("`{}`", hook.location));
    let told = plan.composed.hooking.directives().iter();
    let told = told.filter(|item| is_signed(item.content.provenance()));
    let told = told.map(|item| format!("{} `{}`", item.kind, item.id));
    let mut signed: Vec<String> = Vec::new();
    for name in links.chain(hook).chain(items).chain(acting).chain(told) {
        if !signed.contains(&name) {
            signed.push(name);
        }
    }
    signed
}
