//! From what was resolved to the facts about it; nothing is looked up here but by the plan.

use rye_caps::Pattern;
use rye_parse::{Directive, Hook, Outputs};
use rye_project::{
    Answerer, Composed, HOOKS_FILE, LimitSource, Plan, PlanRequest, PrepareError, Project,
    ProviderChoice, accepted_digests, hook_meaning, opening_digest, return_capability, with_causes,
};
use rye_prompt::{Context, Origin, Piece};
use rye_resolve::{Config, Item, PlacedHook};
use rye_sign::{Digest, canonical_json};
use rye_transcript::ToolSpec;
use rye_types::{LimitSet, Position, SpendLimit};
use serde_json::{Value, json};

use super::executed::execution_items;
use super::{
    ContextFacts, Explained, HookFacts, ItemFacts, LayerFacts, LimitFacts, ModelFacts, ModelSource,
    PortFacts, SkippedFacts, ToolFacts,
};
use crate::privileges;

pub(super) fn explain(project: &Project, request: &PlanRequest) -> Result<Explained, PrepareError> {
    let plan = project.plan(request)?;
    let answerer = plan.answerer(project, request);
    let opening = plan.opening(answerer.as_ref().ok(), request)?;
    let mut notices = plan.refusal().err().map(|error| with_causes(&error)).into_iter().collect();
    let privileges = privileges::of_plan(project, &plan, &[])?;
    Vec::extend(&mut notices, privileges.denials());
    Vec::append(&mut notices, &mut plan.item_warnings(answerer.as_ref().ok(), project));
    notices.extend(answerer.as_ref().ok().and_then(Answerer::destination));
    let executed = execution_items(project, plan.composed.chain.leaf());
    let mut drafts = plan.drafts(answerer.as_ref().ok());
    let unsigned = executed.items.iter().filter_map(ItemFacts::draft);
    drafts.extend(unsigned.filter(|draft| !drafts.contains(draft)).collect::<Vec<_>>());
    notices.extend(executed.missing);
    let leaf = plan.composed.chain.leaf();
    let composed = &plan.composed;
    Ok(Explained {
        id: leaf.id.clone(),
        chain: composed.chain.root_first().rev().map(ItemFacts::of).collect(),
        context: context(&plan),
        suppressed: composed.context.suppressed.clone(),
        skipped: skipped_facts(&composed.context),
        layers: layers(&plan),
        declared_by: composed.chain.declaring().map(|link| link.id.clone()),
        risks: plan.findings.iter().map(ToString::to_string).collect(),
        findings: plan.findings.clone(),
        invocations: plan.offer.invocations.clone(),
        asked: plan.asked.clone(),
        tools: tools(project, &plan),
        withheld: plan.offer.withheld.iter().map(ToString::to_string).collect(),
        starts: None,
        limits: limits(&plan),
        model: answerer
            .as_ref()
            .map(|answerer| model(answerer, model_source(composed, request)))
            .map_err(|error| with_causes(error)),
        inputs: inputs(leaf.content.value()),
        outputs: outputs(leaf.content.value()),
        hooks: hooks(&plan),
        later: later(project, &plan)?.into_iter().chain(executed.items).collect(),
        configs: plan.configs.iter().flat_map(Config::layers).map(ItemFacts::of).collect(),
        digest: opening_digest(opening.system.as_deref(), &opening.first_user_message),
        system: opening.system,
        first_user_message: opening.first_user_message,
        drafts,
        warnings: notices,
    })
}

fn context(plan: &Plan) -> Vec<ContextFacts> {
    let context = &plan.composed.context;
    let slots = [
        (Position::System, &context.system),
        (Position::Before, &context.before),
        (Position::After, &context.after),
    ];
    let facts = |(slot, pieces): (Position, &Vec<Piece>)| -> Vec<ContextFacts> {
        let hooked = hook_context(plan).filter(move |entry| entry.position == slot);
        let own = pieces.iter().map(|piece| entry(plan, slot, piece));
        match slot {
            Position::After => own.chain(hooked).collect(),
            Position::Before | Position::System => hooked.chain(own).collect(),
        }
    };
    slots.into_iter().flat_map(facts).collect()
}

/// Returns the context that hooks put into the opening, without the knowledge that the chain suppresses.
fn hook_context(plan: &Plan) -> impl Iterator<Item = ContextFacts> {
    let composed = &plan.composed;
    let entries = composed.hooking.opening.iter();
    entries.filter(|(_, entry)| !composed.context.suppresses(&entry.id)).map(|(hook, entry)| {
        let text = entry.text();
        let mut items = composed.knowledge.iter();
        ContextFacts {
            position: entry.position,
            asked_by: format!("hook {hook}"),
            item: items.find(|item| item.id.as_str() == entry.id).map(ItemFacts::of),
            bytes: text.len(),
            digest: Digest::of(text.as_bytes()),
        }
    })
}

fn entry(plan: &Plan, position: Position, piece: &Piece) -> ContextFacts {
    let item = match &piece.origin {
        Origin::Knowledge(id) => {
            plan.composed.knowledge.iter().find(|item| item.id.as_str() == id).map(ItemFacts::of)
        }
        _ => None,
    };
    ContextFacts {
        position,
        asked_by: piece.asked_by.clone(),
        item,
        bytes: piece.text.len(),
        digest: Digest::of(piece.text.as_bytes()),
    }
}

fn skipped_facts(context: &Context) -> Vec<SkippedFacts> {
    let facts = |wanted: &rye_prompt::ContextReference| SkippedFacts {
        id: wanted.id.clone(),
        position: wanted.position,
        asked_by: wanted.asked_by.clone(),
    };
    context.skipped.iter().map(facts).collect()
}

/// The layers as they were written, without the return capability that declaring outputs adds to each.
fn layers(plan: &Plan) -> Vec<LayerFacts> {
    let returning = Pattern::exactly(&return_capability());
    let layers = plan.authority.layers().iter();
    layers
        .map(|layer| {
            let patterns = layer.grant().patterns().iter();
            let grant = patterns.filter(|pattern| **pattern != returning).cloned().collect();
            LayerFacts { name: layer.name().clone(), grant }
        })
        .collect()
}

fn tools(project: &Project, plan: &Plan) -> Vec<ToolFacts> {
    let names: Vec<(&str, &str)> = plan.offer.palette.names().collect();
    let item_of = |name: &str| {
        let (_, id) = names.iter().find(|(palette, _)| *palette == name)?;
        plan.offer.items.iter().find(|item| item.id.as_str() == *id)
    };
    let accepted = accepted_digests(project);
    let facts = |spec: ToolSpec| ToolFacts {
        item: item_of(&spec.name).map(ItemFacts::of),
        accepted: item_of(&spec.name).and_then(&accepted),
        spec: spec_digest(&spec),
        input_schema: Digest::of(canonical_json(&spec.input_schema).as_bytes()),
        name: spec.name,
    };
    plan.offer.palette.specs(&plan.contract).into_iter().map(facts).collect()
}

fn spec_digest(spec: &ToolSpec) -> Digest {
    let shown = json!({
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
    });
    Digest::of(canonical_json(&shown).as_bytes())
}

fn limits(plan: &Plan) -> Vec<LimitFacts> {
    let LimitSet { turns, tokens, spend, duration_seconds, spawns, depth, .. } =
        &plan.limits.limits;
    let spend = match spend {
        SpendLimit::AtMost(nanos) => nanos.to_string(),
        SpendLimit::Unlimited => "unlimited".to_owned(),
    };
    let rows = [
        ("turns", turns.to_string()),
        ("tokens", tokens.to_string()),
        ("spend", spend),
        ("duration_seconds", duration_seconds.to_string()),
        ("spawns", spawns.to_string()),
        ("depth", depth.to_string()),
    ];
    let set_by = |name| plan.limits.set_by.get(name).cloned().unwrap_or(LimitSource::Default);
    rows.into_iter().map(|(name, value)| LimitFacts { name, value, set_by: set_by(name) }).collect()
}

fn model(answerer: &Answerer, set_by: ModelSource) -> ModelFacts {
    let provider = answerer.name().to_owned();
    match answerer {
        Answerer::Model(model) => ModelFacts {
            provider,
            set_by,
            model: Some(model.choice.model.clone()),
            item: Some(ItemFacts::of(&model.item)),
        },
        Answerer::Steps(_) => ModelFacts { provider, model: None, item: None, set_by },
    }
}

fn model_source(composed: &Composed, request: &PlanRequest) -> ModelSource {
    if request.provider != ProviderChoice::Directive || request.model.is_some() {
        return ModelSource::Options;
    }
    composed.chain.model().map_or(ModelSource::Default, |it| ModelSource::Directive(it.by.clone()))
}

fn inputs(directive: &Directive) -> Vec<PortFacts> {
    let inputs = directive.inputs.iter().map(|input| &input.value);
    inputs
        .map(|input| PortFacts {
            name: input.name.value.clone(),
            value_type: input.value_type.to_string(),
            required: input.required,
            default: input.default.as_ref().map(|default| default.value.clone()),
            choices: input.choices.clone(),
            description: input.description.clone(),
        })
        .collect()
}

fn outputs(directive: &Directive) -> Vec<PortFacts> {
    let port = |name: &str, value_type: String, required: bool, description: &str| PortFacts {
        name: name.to_owned(),
        value_type,
        required,
        default: None,
        choices: Vec::new(),
        description: description.to_owned(),
    };
    match &directive.outputs {
        Outputs::List(outputs) => outputs
            .iter()
            .map(|output| &output.value)
            .map(|output| {
                let value_type = output.value_type.to_string();
                port(&output.name.value, value_type, output.required, &output.description)
            })
            .collect(),
        Outputs::Dict(outputs) => outputs
            .iter()
            .map(|output| port(&output.value.name, String::new(), false, &output.value.text))
            .collect(),
        Outputs::None => Vec::new(),
    }
}

fn hooks(plan: &Plan) -> Vec<HookFacts> {
    let of_files = plan.placed.iter().map(placed_hook);
    of_files.chain(plan.composed.chain.root_first().flat_map(own_hooks)).collect()
}

/// Returns the items that are not part of the opening.
fn later(project: &Project, plan: &Plan) -> Result<Vec<ItemFacts>, PrepareError> {
    let composed = &plan.composed;
    let context = context(plan);
    let opened = |item: &Item<rye_parse::Knowledge>| {
        let mut items = context.iter().filter_map(|entry| entry.item.as_ref());
        items.any(|known| known.id == item.id)
    };
    let knowledge = composed.knowledge.iter().filter(|item| !opened(item)).map(ItemFacts::of);
    let directives = composed.hooking.directives().iter().map(ItemFacts::of);
    let goes_on = plan.continuation_directive(project)?;
    Ok(knowledge.chain(directives).chain(goes_on.iter().map(ItemFacts::of)).collect())
}

fn placed_hook(placed: &PlacedHook) -> HookFacts {
    let PlacedHook { hook, layer, order, position, wrap, extends, location, .. } = placed;
    let beside = json!({
        "layer": layer.to_string(),
        "order": order,
        "position": position.as_str(),
        "wrap": wrap,
        "extends": extends,
    });
    hook_facts(hook, format!("config `{HOOKS_FILE}` of the {} space", location.space), &beside)
}

fn own_hooks(link: &Item<Directive>) -> impl Iterator<Item = HookFacts> {
    let hooks = link.content.value().hooks.iter();
    hooks.map(|hook| hook_facts(&hook.value, format!("directive `{}`", link.id), &json!({})))
}

fn hook_facts(hook: &Hook, declared_by: String, beside: &Value) -> HookFacts {
    let whole = json!({ "hook": hook_meaning(hook), "beside": beside });
    HookFacts {
        id: hook.id.value.clone(),
        event: hook.event.value.as_str(),
        effect: hook.effect.as_ref().map(|effect| effect.value.as_str()),
        declared_by,
        digest: Digest::of(canonical_json(&whole).as_bytes()),
    }
}
