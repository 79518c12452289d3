//! Permissions held against what the signers may grant and what the operator's policy allows (SPEC 2.7, 9.4).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use rye_caps::{Capability, Kind, Layer, Pattern};
use rye_parse::{
    Action, ContextPosition, Directive, Hook, PlacedTool, Primary, Spanned, ToolManifest,
};
use rye_resolve::{ItemId, PlacedHook, Space};
use rye_types::{HookEvent, ItemKind};

use super::Finding;
use super::catalog::{Catalog, Chain};
use super::judged::Judged;
use crate::config::{HOOKS_FILE, policy_layers};
use crate::needs::{Callee, Need, NeedSource, Needs, callee, refused_later};
use crate::plan::invocation;

/// Finds the permissions of the leaf of `chain` that a run denies all the same. `signers` are the most that the signers of
/// the leaf's own text may grant.
pub(super) fn findings(
    catalog: &Catalog<'_>,
    judged: &Judged<'_>,
    signers: &[Layer],
) -> Vec<Finding> {
    let Judged { chain, granted, places, .. } = judged;
    if chain.declaring().next().is_none() {
        return Vec::new();
    }
    let mut bounds: Vec<Bound<'_>> = signers.iter().map(Bound::of_own_signer).collect();
    bounds.extend(of_items(catalog, chain));
    // A broken policy is told at its file.
    let policy = policy_layers(catalog.project.trust_config.as_ref()).unwrap_or_default();
    bounds.extend(policy.iter().map(Bound::of_policy));
    let inherited = chain.extends_place();
    // Most directives have signers without limits.
    let is_bound = |need: &Need| {
        let tool = tool_of(catalog, &need.pattern);
        tool.is_some_and(|(id, _)| !catalog.bounds(ItemKind::Tool, id).is_empty())
    };
    let needs = &judged.needs.needs;
    let judged_needs = match !bounds.is_empty() || needs.iter().any(is_bound) {
        true => needs.as_slice(),
        false => &[],
    };
    let needs = judged_needs
        .iter()
        .map(|need| (functions(catalog, &judged.needs, &need.pattern), need.clone()))
        .collect();
    let judge = Judge { granted: granted.patterns(), places, inherited, needs };
    let mut findings: Vec<Finding> =
        bounds.iter().flat_map(|bound| judge.findings(bound)).collect();
    findings.extend(judge.of_tools(catalog));
    findings.extend(judge.of_taken_items(catalog, judged));
    findings
}

/// Finds that no thread is offered a tool, because `signers`, the most that its own signers may grant, do not have it, or a
/// function that it stands for (SPEC 2.7).
pub(super) fn of_tool(id: &ItemId, tool: &PlacedTool, signers: &[Layer]) -> Option<Finding> {
    let call = invocation(id, &tool.manifest).ok()?;
    let needed = || std::iter::once(call.item()).chain(call.functions());
    let (key, denied) = signers.iter().find_map(|layer| {
        let denied = needed().find(|capability| !layer.grant().allows(capability))?;
        Some((layer.name(), denied))
    })?;
    let message = format!(
        "{key}, which signed this tool, may not grant `{denied}`, so that no thread is offered the tool"
    );
    let help = format!(
        "review the tool and sign it with a key that may, or add `{denied}` to the `grants` of the key's trust document"
    );
    let finding = Finding::warning(BEYOND_BOUND, &message, tool.place(&["description"]));
    Some(finding.with_label("not offered to threads").with_help(&help))
}

/// Finds that no run asks a provider, because `signers`, the most that the signers of its configuration may grant, do not have it.
pub(super) fn of_provider(id: &ItemId, signers: &[Layer]) -> Option<Finding> {
    let capability = Capability::new(rye_caps::Primary::Execute, Kind::Tool, id.as_str()).ok()?;
    let layer = signers.iter().find(|layer| !layer.grant().allows(&capability))?;
    let key = layer.name();
    let message = format!(
        "{key}, which signed this provider's configuration, may not grant `{capability}`, so that runs with this provider are refused"
    );
    let help = format!(
        "review it and sign it with a key that may, or add `{capability}` to the `grants` of the key's trust document"
    );
    let finding = Finding::warning(BEYOND_BOUND, &message, 0..0);
    Some(finding.with_label("refused for use").with_help(&help))
}

/// A layer of the authority that is not a part of the directive.
struct Bound<'l> {
    layer: &'l Layer,
    /// The item that brings the layer in, and where the directive names it; `None` for the directive itself and for the policy.
    item: Option<(String, Range<usize>)>,
    is_policy: bool,
    /// It is the project's, and the directive is not, so that it bounds the directive here alone.
    is_elsewhere: bool,
}

impl<'l> Bound<'l> {
    fn of_own_signer(layer: &'l Layer) -> Self {
        Self { layer, item: None, is_policy: false, is_elsewhere: false }
    }

    fn of_policy(layer: &'l Layer) -> Self {
        Self { layer, item: None, is_policy: true, is_elsewhere: false }
    }

    fn refuses(&self, pattern: &Pattern) -> bool {
        !self.layer.grant().patterns().iter().any(|own| own.meets(pattern))
    }

    fn covers(&self, pattern: &Pattern) -> bool {
        self.layer.grant().covers(&std::iter::once(pattern.clone()).collect()).is_ok()
    }

    fn name(&self) -> String {
        match (&self.item, self.is_policy) {
            (Some((item, _)), _) => format!("{}, which signed {item},", self.layer.name()),
            (None, false) => format!("{}, which signed this directive,", self.layer.name()),
            (None, true) => self.layer.name().to_string(),
        }
    }

    fn help(&self, pattern: &Pattern) -> String {
        match (&self.item, self.is_policy) {
            (Some((item, _)), _) => format!(
                "read {item} and sign it with a key that may, leave it out, or add `{pattern}` to the `grants` of the key's trust document"
            ),
            (None, false) => format!(
                "review the directive and sign it with a key that may, or add `{pattern}` to the `grants` of the key's trust document"
            ),
            (None, true) => format!(
                "add `{pattern}` to the `grants` of its `config/trust.yaml`, or leave out what needs it"
            ),
        }
    }
}

/// An item that a file names, and the place where it does.
type Named = (ItemKind, ItemId, Range<usize>);

/// The bounds of the items that the chain names: directives that it extends, knowledge of its context, and what its hooks and those of
/// hooks files put before the model; and the bounds of these files.
fn of_items<'c>(catalog: &'c Catalog<'_>, chain: &Chain<'_>) -> Vec<Bound<'c>> {
    let Some((id, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let extends = chain.extends_place();
    let is_of_project = catalog.space(ItemKind::Directive, id) == Some(Space::Project);
    let is_elsewhere =
        |placed: &PlacedHook| placed.location.space == Space::Project && !is_of_project;
    let is_extended_elsewhere = chain.extended_by.is_some_and(is_elsewhere);
    let mut named: Vec<(Named, bool)> = Vec::new();
    for named_by_chain in of_chain(chain) {
        let is_elsewhere = is_extended_elsewhere && named_by_chain.2 == extends;
        named.push((named_by_chain, is_elsewhere));
    }
    for (place, (_, link)) in chain.links.iter().enumerate() {
        for (kind, id, span) in link.hooks.iter().flat_map(|hook| told_by(catalog, &hook.value)) {
            let is_leaf = place == 0;
            let span = if is_leaf { span } else { extends.clone() };
            named.push(((kind, id, span), is_extended_elsewhere && !is_leaf));
        }
    }
    // A file of the user space acts in many projects, so that the directive itself is the place.
    for placed in catalog.hooks.iter().flatten() {
        for (kind, id, _) in told_by(catalog, &placed.hook) {
            named.push(((kind, id, leaf.name.span.clone()), is_elsewhere(placed)));
        }
    }
    let mut bounds: Vec<Bound<'c>> = Vec::new();
    let mut add = |name: String, span: Range<usize>, layer: &'c Layer, is_elsewhere: bool| {
        let bound = Bound { item: Some((name, span)), is_elsewhere, ..Bound::of_own_signer(layer) };
        if !bounds.iter().any(|known| known.item == bound.item && known.layer == bound.layer) {
            bounds.push(bound);
        }
    };
    let is_used = is_used(chain);
    for ((kind, id, span), is_elsewhere) in named.iter().filter(|(named, _)| is_used(named)) {
        for layer in catalog.bounds(*kind, id) {
            add(format!("{kind} `{id}`"), span.clone(), layer, *is_elsewhere);
        }
    }
    let acting = catalog.hooks.iter().flatten();
    let acting = acting.filter(|placed| placed.hook.event.value != HookEvent::ResolveExtends);
    for placed in acting.chain(chain.extended_by) {
        for layer in catalog.bounds_of_hook(placed) {
            let name = format!("the hooks file `{}`", placed.location);
            add(name, leaf.name.span.clone(), layer, is_elsewhere(placed));
        }
    }
    bounds
}

/// The bounds of an item that a call brings into a thread, each with the item that the key signed.
pub(super) fn of_taken(catalog: &Catalog<'_>, kind: ItemKind, id: &ItemId) -> Vec<(String, Layer)> {
    let mut named: Vec<Named> = vec![(kind, id.clone(), 0..0)];
    let mut extended_by = None;
    if let Some((id, leaf)) = catalog.directive(id).filter(|_| kind == ItemKind::Directive) {
        let chain = catalog.chain(id, leaf);
        extended_by = chain.extended_by;
        named.extend(of_chain(&chain).into_iter().filter(is_used(&chain)));
    }
    let bounds = named.iter().flat_map(|(kind, id, _)| {
        let layers = catalog.bounds(*kind, id).iter();
        layers.map(move |layer| (format!("{kind} `{id}`"), layer.clone()))
    });
    let of_hook = extended_by.iter().flat_map(|hook| {
        let layers = catalog.bounds_of_hook(hook).iter();
        layers.map(|layer| (format!("config `{HOOKS_FILE}`"), layer.clone()))
    });
    bounds.chain(of_hook).collect()
}

/// The directives that the leaf extends, and the knowledge in the context of all of them.
fn of_chain(chain: &Chain<'_>) -> Vec<Named> {
    let extends = chain.extends_place();
    let mut named: Vec<Named> = Vec::new();
    for (place, (id, link)) in chain.links.iter().enumerate() {
        let is_leaf = place == 0;
        if !is_leaf {
            named.push((ItemKind::Directive, (*id).clone(), extends.clone()));
        }
        let context = link.context.iter();
        let context = context.filter(|it| it.value.position != ContextPosition::Suppress);
        let context = context.filter_map(|entry| {
            let span = if is_leaf { entry.span.clone() } else { extends.clone() };
            let id = ItemId::of_context(&entry.value.content.id()?).ok()?;
            Some((ItemKind::Knowledge, id, span))
        });
        named.extend(context);
    }
    named
}

/// The items whose texts a hook puts before the model.
fn told_by(catalog: &Catalog<'_>, hook: &Hook) -> Vec<Named> {
    if hook.event.value == HookEvent::ResolveExtends {
        return Vec::new();
    }
    let told = |action: &Spanned<Action>| {
        let loads = matches!(action.value.primary, Primary::Load | Primary::Fetch);
        let (kind, id) = match callee(&action.value, catalog) {
            Some(Callee::Executed(kind, id)) => (kind, id),
            _ if loads && action.value.item_type.as_deref() == Some("knowledge") => {
                (ItemKind::Knowledge, action.value.item_id.as_ref()?.parse().ok()?)
            }
            _ => return None,
        };
        Some((kind, id, action.span.clone()))
    };
    hook.actions.iter().filter_map(told).collect()
}

/// Tells the items that a run puts before the model from the knowledge that the chain suppresses.
fn is_used(chain: &Chain<'_>) -> impl Fn(&Named) -> bool {
    let links = chain.links.iter();
    let suppressed: BTreeSet<String> = links.flat_map(|(_, link)| suppressed_ids(link)).collect();
    move |(kind, id, _)| *kind != ItemKind::Knowledge || !is_suppressed(&suppressed, id)
}

/// The directives that the leaf extends, and the knowledge that these put before the model, which a run uses by what it extends.
pub(super) fn inherited(chain: &Chain<'_>) -> Vec<(ItemKind, ItemId)> {
    let extends = chain.extends_place();
    let mut named = of_chain(chain);
    let is_used = is_used(chain);
    named.retain(|named| named.2 == extends && is_used(named));
    named.into_iter().map(|(kind, id, _)| (kind, id)).collect()
}

/// The ids that a directive suppresses.
pub(super) fn suppressed_ids(link: &Directive) -> impl Iterator<Item = String> {
    let entries = link.context.iter().map(|entry| &entry.value);
    let suppressed = entries.filter(|entry| entry.position == ContextPosition::Suppress);
    suppressed.filter_map(|entry| entry.content.id().map(Cow::into_owned))
}

/// Returns `true` if one of the `suppressed` ids takes the knowledge away. A file is suppressed by its path, too.
pub(super) fn is_suppressed(suppressed: &BTreeSet<String>, id: &ItemId) -> bool {
    suppressed.contains(id.as_str()) || id.file().is_some_and(|it| suppressed.contains(it.as_str()))
}

/// The permissions of a directive, which bounds are held against.
struct Judge<'j> {
    granted: &'j [Pattern],
    /// The place of each permission that the leaf itself declares.
    places: &'j [(Pattern, Range<usize>)],
    /// The place that stands for permissions of another directive.
    inherited: Range<usize>,
    /// The needs, each with the functions behind a tool.
    needs: Vec<(Vec<Capability>, Need)>,
}

impl Judge<'_> {
    fn findings(&self, bound: &Bound<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for pattern in self.granted {
            let is_denied = |(functions, need): &&(Vec<Capability>, Need)| {
                let is_refused = bound.refuses(&need.pattern)
                    || functions.iter().any(|it| !bound.layer.grant().allows(it));
                is_refused && need.is_of_a_call() && pattern.meets(&need.pattern)
            };
            let denied = self.needs.iter().find(is_denied);
            let place = match &bound.item {
                Some((_, place)) => place,
                None => self.place(pattern),
            };
            let finding = match denied {
                // The operator's policy is for all directives, so that it may well be narrower than one declares.
                None if bound.is_policy || bound.covers(pattern) => continue,
                None => declaration_finding(bound, pattern, place),
                Some((functions, need)) => need_finding(bound, functions, need, pattern, place),
            };
            let bars_signing = finding.bars_signing && !bound.is_elsewhere;
            findings.push(Finding { bars_signing, ..finding });
        }
        findings
    }

    /// A tool whose signer may not grant it, or a function that it stands for, is not offered to a thread (SPEC 2.7). The tools of
    /// a child are judged in the child.
    fn of_tools(&self, catalog: &Catalog<'_>) -> Vec<Finding> {
        let is_childs =
            |it: &NeedSource| matches!(it, NeedSource::Child(_) | NeedSource::Declared(_));
        let own = self.needs.iter().filter(|(_, need)| !need.sources.iter().all(is_childs));
        let mut findings = Vec::new();
        for (functions, need) in own {
            let Some(pattern) = self.granted.iter().find(|it| it.meets(&need.pattern)) else {
                continue;
            };
            let Some((id, _)) = tool_of(catalog, &need.pattern) else { continue };
            let place = self.place(pattern);
            let bounds = catalog.bounds(ItemKind::Tool, id).iter().map(|layer| Bound {
                item: Some((format!("tool `{id}`"), place.clone())),
                ..Bound::of_own_signer(layer)
            });
            let refusing = bounds.into_iter().find(|bound| {
                bound.refuses(&need.pattern)
                    || functions.iter().any(|it| !bound.layer.grant().allows(it))
            });
            findings.extend(
                refusing.map(|bound| need_finding(&bound, functions, need, pattern, place)),
            );
        }
        findings
    }

    /// Calls behind one that brings in an item whose signer may not grant what they need.
    fn of_taken_items(&self, catalog: &Catalog<'_>, judged: &Judged<'_>) -> Vec<Finding> {
        let Judged { id, leaf, calls, needs, .. } = judged;
        // Its own signer bounds all of it already, and by the signature that counts.
        let is_itself =
            |taken: &(ItemKind, ItemId)| taken.0 == ItemKind::Directive && taken.1 == **id;
        let refusals =
            refused_later(needs, catalog, |need| functions(catalog, needs, need)).into_iter();
        let granted = refusals.filter(|it| self.granted.iter().any(|own| own.meets(&it.need)));
        let of_calls = granted
            .filter(|it| !matches!(it.source, NeedSource::Declared(_)) && !is_itself(&it.taken));
        of_calls
            .map(|refusal| {
                let (kind, id) = refusal.taken.clone();
                let taken = Some(Callee::Executed(kind, id));
                let mut calls = calls.iter();
                let taking = calls.find(|call| callee(&call.placed.value, catalog) == taken);
                let place = taking.map_or(&leaf.name.span, |call| &call.placed.span).clone();
                Finding::error(BEYOND_BOUND, &refusal.to_string(), place)
                    .with_label("bounds the calls after it")
                    .with_help(&refusal.help())
            })
            .collect()
    }

    fn place(&self, pattern: &Pattern) -> &Range<usize> {
        let own = self.places.iter().find(|(known, _)| known == pattern);
        own.map_or(&self.inherited, |(_, place)| place)
    }
}

/// Returns the functions that a needed tool stands for, or a directive that is started, which policies and signers judge, too
/// (SPEC 9.6b).
fn functions(catalog: &Catalog<'_>, needs: &Needs, need: &Pattern) -> Vec<Capability> {
    let call = tool_of(catalog, need).and_then(|(id, manifest)| invocation(id, manifest).ok());
    let of_tool = call.map(|call| call.functions().to_vec()).unwrap_or_default();
    of_tool.into_iter().chain(needs.function_of_fork(need)).collect()
}

/// The tool that a need names.
fn tool_of<'c>(catalog: &'c Catalog<'_>, need: &Pattern) -> Option<(&'c ItemId, &'c ToolManifest)> {
    catalog.tool_of_dotted(need.as_str().strip_prefix("rye.execute.tool.")?)
}

/// A permission that a step or a hook needs.
fn need_finding(
    bound: &Bound<'_>,
    functions: &[Capability],
    need: &Need,
    pattern: &Pattern,
    place: &Range<usize>,
) -> Finding {
    let sources: Vec<String> = need.sources.iter().map(ToString::to_string).collect();
    let verb = if bound.is_policy { "does not allow" } else { "may not grant" };
    let function = functions.iter().find(|it| !bound.layer.grant().allows(it));
    let function = function.map(Pattern::exactly).filter(|_| !bound.refuses(&need.pattern));
    let denied = function.as_ref().unwrap_or(&need.pattern);
    let stands = match function {
        Some(_) => format!(", for which `{}` stands", need.pattern),
        None => String::new(),
    };
    let message = format!(
        "{} {verb} `{denied}`{stands}, which {} needs of `{pattern}`",
        bound.name(),
        sources.join(", ")
    );
    // A run warns of an action of a hook that is denied, and continues.
    let is_of_hooks = need.sources.iter().all(|it| matches!(it, NeedSource::Hook(_)));
    let finding = match is_of_hooks {
        true => Finding::warning(BEYOND_BOUND, &message, place.clone()),
        false => Finding::error(BEYOND_BOUND, &message, place.clone()),
    };
    finding.with_label("would be denied").with_help(&bound.help(denied))
}

/// A permission that nothing known needs: an error if the signer may grant nothing of it.
fn declaration_finding(bound: &Bound<'_>, pattern: &Pattern, place: &Range<usize>) -> Finding {
    let finding = if bound.refuses(pattern) {
        let message = format!("{} may not grant `{pattern}`", bound.name());
        Finding::error(BEYOND_BOUND, &message, place.clone()).with_label("would be denied")
    } else {
        let message = format!("{} may grant only a part of `{pattern}`", bound.name());
        Finding::warning(BEYOND_BOUND, &message, place.clone()).with_label("denied in part")
    };
    finding.with_help(&bound.help(pattern))
}

/// The code of the finding about a permission that the policy or a signer takes away.
const BEYOND_BOUND: &str = "beyond-grants";
