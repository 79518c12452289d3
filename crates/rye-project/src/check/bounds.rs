//! Permissions held against what the signers may grant and what the operator's policy allows (SPEC 2.7, 9.4).

use std::ops::Range;

use rye_caps::{Capability, Layer, Pattern};
use rye_parse::{ContextContent, ContextPosition, Directive};
use rye_resolve::{ItemId, ItemKind};

use super::Finding;
use super::catalog::{Catalog, Chain};
use super::grants::needs;
use super::permissions::{declared_grant, granted_patterns};
use crate::config::policy_layers;
use crate::needs::{Callee, Need, NeedSource, callee};
use crate::plan::invocation;

/// Finds the permissions of the leaf of `chain` that a run denies all the same. `signers` are the most that the signers of
/// the leaf's own text may grant.
pub(super) fn findings(
    catalog: &Catalog<'_>,
    chain: &Chain<'_>,
    signers: &[Layer],
) -> Vec<Finding> {
    let Some((_, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let Some((_, declaring)) = chain.declaring().next() else { return Vec::new() };
    let mut bounds: Vec<Bound<'_>> = signers.iter().map(Bound::of_own_signer).collect();
    bounds.extend(of_items(catalog, chain));
    // A broken policy is told at its file.
    let policy = policy_layers(catalog.project.trust_config.as_ref()).unwrap_or_default();
    bounds.extend(policy.iter().map(Bound::of_policy));
    if bounds.is_empty() {
        return Vec::new();
    }
    let granted = declared_grant(declaring).patterns().to_vec();
    let places = leaf.permissions.as_ref().map(|block| granted_patterns(&block.value));
    let inherited = leaf.extends.as_ref().map_or(leaf.name.span.clone(), |it| it.span.clone());
    let needs = needs(catalog, chain, leaf).needs.into_iter();
    let needs = needs.map(|need| (functions(catalog, &need), need)).collect();
    let judge = Judge { granted, places: places.unwrap_or_default(), inherited, needs };
    bounds.iter().flat_map(|bound| judge.findings(bound)).collect()
}

/// A layer of the authority that is not a part of the directive.
struct Bound<'l> {
    layer: &'l Layer,
    /// The item that brings the layer in, and where the directive names it; `None` for the directive itself and for the policy.
    item: Option<(String, Range<usize>)>,
    is_policy: bool,
}

impl<'l> Bound<'l> {
    fn of_own_signer(layer: &'l Layer) -> Self {
        Self { layer, item: None, is_policy: false }
    }

    fn of_policy(layer: &'l Layer) -> Self {
        Self { layer, item: None, is_policy: true }
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

/// The bounds of the items that the chain names: directives that it extends, knowledge of its context, and directives that its hooks
/// put before the model.
fn of_items<'c>(catalog: &'c Catalog<'_>, chain: &Chain<'_>) -> Vec<Bound<'c>> {
    let Some((_, leaf)) = chain.links.first().copied() else { return Vec::new() };
    let extends = leaf.extends.as_ref().map_or(leaf.name.span.clone(), |it| it.span.clone());
    let mut named: Vec<(ItemKind, ItemId, Range<usize>)> = Vec::new();
    for (place, (id, link)) in chain.links.iter().enumerate() {
        let is_leaf = place == 0;
        if !is_leaf {
            named.push((ItemKind::Directive, (*id).clone(), extends.clone()));
        }
        named.extend(
            steering_items(catalog, link)
                .map(|(kind, id, span)| (kind, id, if is_leaf { span } else { extends.clone() })),
        );
    }
    let suppressed: Vec<&str> =
        chain.links.iter().flat_map(|(_, link)| suppressed_ids(link)).collect();
    let used = named
        .into_iter()
        .filter(|(kind, id, _)| *kind != ItemKind::Knowledge || !suppressed.contains(&id.as_str()));
    let mut bounds: Vec<Bound<'c>> = Vec::new();
    for (kind, id, span) in used {
        for layer in catalog.bounds(kind, &id) {
            let item = Some((format!("{kind} `{id}`"), span.clone()));
            if !bounds.iter().any(|known| known.item == item && known.layer == layer) {
                bounds.push(Bound { layer, item, is_policy: false });
            }
        }
    }
    bounds
}

/// The items whose texts a directive puts before its model, by context and by hooks.
fn steering_items<'l>(
    catalog: &Catalog<'_>,
    link: &'l Directive,
) -> impl Iterator<Item = (ItemKind, ItemId, Range<usize>)> + 'l {
    let context = link.context.iter().filter_map(|entry| match &entry.value.content {
        ContextContent::Knowledge(id) if entry.value.position != ContextPosition::Suppress => {
            Some((ItemKind::Knowledge, id.parse().ok()?, entry.span.clone()))
        }
        _ => None,
    });
    let actions = link.hooks.iter().flat_map(|hook| &hook.value.actions);
    let hooks: Vec<_> = actions
        .filter_map(|action| match callee(&action.value, catalog)? {
            Callee::Executed(kind, id) => Some((kind, id, action.span.clone())),
            _ => None,
        })
        .collect();
    context.chain(hooks)
}

fn suppressed_ids(link: &Directive) -> impl Iterator<Item = &str> {
    let entries = link.context.iter();
    entries.filter_map(|entry| match (&entry.value.content, entry.value.position) {
        (ContextContent::Knowledge(id), ContextPosition::Suppress) => Some(id.as_str()),
        _ => None,
    })
}

/// The permissions of a directive, which bounds are held against.
struct Judge {
    granted: Vec<Pattern>,
    /// The place of each permission that the leaf itself declares.
    places: Vec<(Pattern, Range<usize>)>,
    /// The place that stands for permissions of another directive.
    inherited: Range<usize>,
    /// The needs, each with the functions behind a tool.
    needs: Vec<(Vec<Capability>, Need)>,
}

impl Judge {
    fn findings(&self, bound: &Bound<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for pattern in &self.granted {
            let is_denied = |(functions, need): &&(Vec<Capability>, Need)| {
                let is_refused = bound.refuses(&need.pattern)
                    || functions.iter().any(|it| !bound.layer.grant().allows(it));
                is_refused && pattern.meets(&need.pattern)
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
            // A signature by another key mends it.
            let bars_signing = finding.bars_signing && (bound.item.is_some() || bound.is_policy);
            findings.push(Finding { bars_signing, ..finding });
        }
        findings
    }

    fn place(&self, pattern: &Pattern) -> &Range<usize> {
        let own = self.places.iter().find(|(known, _)| known == pattern);
        own.map_or(&self.inherited, |(_, place)| place)
    }
}

/// Returns the functions that a needed tool stands for, which policies and signers judge, too (SPEC 9.6b).
fn functions(catalog: &Catalog<'_>, need: &Need) -> Vec<Capability> {
    let id = need.pattern.as_str().strip_prefix("rye.execute.tool.");
    let tool = id.and_then(|id| catalog.tool_of_dotted(id));
    let call = tool.and_then(|(id, manifest)| invocation(id, manifest).ok());
    call.map(|call| call.functions().to_vec()).unwrap_or_default()
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
