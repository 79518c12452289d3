//! References of directives and hooks to other items, resolved without running anything.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use rye_parse::{
    Action, ContextContent, ContextEntry, ContextPosition, Directive, Hook, Model, Placeholder,
    Primary, Spanned, placeholders,
};
use rye_providers::ChoiceError;
use rye_resolve::{ExtendsChain, FilePath, ItemId, ResolveError, Space};
use rye_types::{HookEvent, ItemKind};

use super::bounds::{is_suppressed, suppressed_ids};
use super::catalog::{Break, Catalog, Chain};
use super::judged::Judged;
use super::{Finding, calls};
use crate::causes::with_causes;
use crate::config::{DEFAULT_PROVIDER_FILE, PROVIDERS, is_hooks};
use crate::needs::{Callee, MissingItem, StepCall, callee};
use crate::plan::{STEPS, choice_problem, hook_action_problem};

pub(super) fn of_directive(catalog: &Catalog<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let Judged { leaf: directive, chain, calls, needs, .. } = judged;
    let mut findings: Vec<Finding> = extends(directive, chain).into_iter().collect();
    findings.extend(model(catalog, directive));
    findings.extend(continuation(catalog, directive));
    let suppressed = suppressed_context(chain);
    let context = directive.context.iter();
    findings.extend(context.filter_map(|entry| self::context(catalog, entry, &suppressed)));
    findings.extend(files_of_other_spaces(catalog, chain));
    for StepCall { step, placed, .. } in calls {
        let by = format!("step `{step}`");
        findings.extend(action(catalog, placed, &by));
        findings.extend(unfilled_id(directive, placed, &by));
    }
    for MissingItem { kind, id, source, step } in needs.missing_below() {
        let place = calls.iter().find(|call| call.step == *step);
        let place = place.map_or(&directive.name.span, |call| &call.placed.span);
        findings.push(missing(code(*kind), *kind, id, &format!("step `{step}`: {source}"), place));
    }
    for hook in &directive.hooks {
        findings.extend(self::hook(catalog, &hook.value, &suppressed));
    }
    findings
}

/// The references of a hooks file.
pub(super) fn of_config(
    catalog: &Catalog<'_>,
    id: &ItemId,
    path: &Path,
    source: &str,
) -> Vec<Finding> {
    if !is_hooks(id) {
        return Vec::new();
    }
    // What is wrong with its form is a finding already.
    let hooks = rye_parse::hooks(source, super::extension(path)).unwrap_or_default();
    let mut findings = Vec::new();
    for hook in hooks.iter().map(|hook| &hook.value) {
        let extended = hook.extends.as_ref().and_then(|id| {
            let by = format!("hook `{}`", hook.hook.id.value);
            reference(catalog, ItemKind::Directive, &id.value, &by, &id.span)
        });
        findings.extend(extended);
        findings.extend(self::hook(catalog, &hook.hook, &BTreeSet::new()));
        findings.extend(calls::of_hook(catalog, &hook.hook, source, calls::Notation::Yaml));
    }
    findings
}

/// Finds that what a directive extends cannot be followed, where the directive or a hook says it.
fn extends(directive: &Directive, chain: &Chain<'_>) -> Option<Finding> {
    let leaf = chain.links.first()?.0;
    let (place, by, says) = match (&chain.extended_by, &directive.extends) {
        (Some(hook), _) => {
            let by = format!("hook `{}` of `{}`", hook.hook.id.value, hook.location);
            let says = format!("{by} says what it extends, and ");
            (directive.name.span.clone(), by, says)
        }
        (None, extends) => (extends.as_ref()?.span.clone(), "`extends`".to_owned(), String::new()),
    };
    Some(match chain.broken.as_ref()? {
        Break::Missing { child, parent } if child == leaf => {
            missing("unknown-directive", ItemKind::Directive, parent, &by, &place)
        }
        Break::Missing { child, parent } => {
            let message = format!(
                "{says}`{child}`, which it extends, itself extends the directive `{parent}`, which no space has"
            );
            Finding::error("broken-extends", &message, place)
                .with_label("leads there")
                .with_help(&format!("mend `extends` of `{child}`"))
        }
        Break::Unreadable { parent } => {
            let message = format!("{says}it extends `{parent}`, which cannot be read");
            Finding::error("broken-extends", &message, place)
                .with_label("leads there")
                .with_help(&format!("`rye check` of the file that `rye which {parent} --kind directive` names shows why"))
        }
        Break::Circular(links) => {
            let links: Vec<&str> = links.iter().map(ItemId::as_str).collect();
            let message = format!("{says}`extends` goes in a circle: {}", links.join(" → "));
            let help = match chain.extended_by {
                Some(_) => "narrow `when` of the hook, so that it leaves out this directive",
                None => "remove `extends` from one directive of the circle",
            };
            Finding::error("circular-extends", &message, place)
                .with_label("leads back")
                .with_help(help)
        }
        Break::TooLong => {
            let message =
                format!("{says}the extends chain has more than {} links", ExtendsChain::MAX_LINKS);
            Finding::error("long-extends", &message, place)
                .with_label("begins here")
                .with_help("merge some of the directives")
        }
    })
}

/// The provider that a directive names is one of the configurations among the tools.
fn model(catalog: &Catalog<'_>, directive: &Directive) -> Option<Finding> {
    let model = directive.model.as_ref()?;
    let named = model.value.provider.as_ref();
    let unknown = named
        .and_then(|named| unknown_provider(catalog, "`<model>`", &named.value, named.span.clone()));
    unknown.or_else(|| self::choice(catalog, model))
}

/// The tier or the model that a directive asks for is one that its provider has. Another machine may have another default.
fn choice(catalog: &Catalog<'_>, model: &Spanned<Model>) -> Option<Finding> {
    let problem = choice_problem(catalog.provider(&model.value)?.as_ref(), &model.value)?;
    let (code, wrong) = match &problem {
        ChoiceError::UnknownTier { tier, .. } => ("unknown-tier", tier.as_str()),
        ChoiceError::UnknownModel { model, .. } => ("unknown-model", model.as_str()),
        _ => ("no-model", ""),
    };
    let Model { tier, id, fallback, .. } = &model.value;
    let mut stated = [tier, id, fallback].into_iter().flatten();
    let place = stated.find(|text| text.value == wrong).map(|text| text.span.clone());
    let place = place.unwrap_or_else(|| model.span.clone());
    let finding = Finding::warning(code, &problem.to_string(), place);
    Some(finding.with_label("no model for this"))
}

/// The provider that a configuration makes the default is one of the configurations among the tools.
pub(super) fn default_provider(
    catalog: &Catalog<'_>,
    id: &ItemId,
    path: &Path,
    source: &str,
) -> Option<Finding> {
    if id.as_str() != DEFAULT_PROVIDER_FILE {
        return None;
    }
    let config = rye_parse::placed_config(source, super::extension(path)).ok()?;
    let named = config.value.get("default")?.as_str()?;
    unknown_provider(catalog, "`default`", named, config.place(&["default"]))
}

fn unknown_provider(
    catalog: &Catalog<'_>,
    by: &str,
    named: &str,
    place: Range<usize>,
) -> Option<Finding> {
    if named == STEPS {
        return None;
    }
    let id: ItemId = format!("{PROVIDERS}{named}").parse().ok()?;
    if catalog.has(ItemKind::Tool, &id) {
        return None;
    }
    let ids = catalog.ids(ItemKind::Tool);
    let names = ids.iter().filter_map(|id| id.as_str().strip_prefix(PROVIDERS));
    let names: Vec<&str> = names.collect();
    let message =
        format!("{by} names the provider `{named}`, of which there is no configuration here");
    Some(
        // Another machine may have one.
        Finding::warning("unknown-provider", &message, place)
            .with_label("no such provider")
            .with_help(&format!(
                "name one of `{}`, or write `.ai/tools/{id}.yaml`",
                names.join("`, `")
            )),
    )
}

fn continuation(catalog: &Catalog<'_>, directive: &Directive) -> Option<Finding> {
    let named = directive.continuation_directive.as_ref()?;
    let by = "`<continuation_directive>`";
    reference(catalog, ItemKind::Directive, &named.value, by, &named.span)
}

/// The ids that the chain takes away from the context, which are therefore never looked for.
fn suppressed_context(chain: &Chain<'_>) -> BTreeSet<String> {
    chain.links.iter().flat_map(|(_, link)| suppressed_ids(link)).collect()
}

fn context(
    catalog: &Catalog<'_>,
    entry: &Spanned<ContextEntry>,
    suppressed: &BTreeSet<String>,
) -> Option<Finding> {
    let position = entry.value.position;
    let id = ItemId::of_context(&entry.value.content.id()?).ok()?;
    if position != ContextPosition::Suppress && is_suppressed(suppressed, &id) {
        return None;
    }
    let by = format!("`<{}>`", position.as_str());
    if let Some(path) = id.file() {
        return file(catalog, entry, &path, &by);
    }
    let finding = reference(catalog, ItemKind::Knowledge, id.as_str(), &by, &entry.span)?;
    if position == ContextPosition::Suppress {
        // A file is suppressed by its path, too.
        if id.as_str().parse().is_ok_and(|path| has_file(catalog, &path)) {
            return None;
        }
        let help = "write the id as `<context>` has it, or remove the line";
        let message = finding.message.clone();
        let warning = Finding::warning("unknown-suppress", &message, finding.span.clone());
        return Some(
            Finding { missing: finding.missing, ..warning.with_label("takes nothing away") }
                .with_help(help),
        );
    }
    if entry.value.optional {
        let remark = Finding::remark("missing-optional", &finding.message, finding.span.clone());
        return Some(
            remark
                .with_label("left out")
                .with_help("it is optional, so that it is left out of the prompt"),
        );
    }
    Some(finding.with_help(&format!(
        "write `.ai/knowledge/{id}.md`, or add `optional=\"true\"` to leave it out while it is missing"
    )))
}

/// The finding about a plain file of the project that is not there or cannot be read (SPEC 17.3).
fn file(
    catalog: &Catalog<'_>,
    entry: &Spanned<ContextEntry>,
    path: &FilePath,
    by: &str,
) -> Option<Finding> {
    let message = format!("{by} names the file `{path}`, which the project does not have");
    let place = entry.span.clone();
    if entry.value.position == ContextPosition::Suppress {
        let finding = Finding::warning("unknown-suppress", &message, place);
        let help = "write the path as `<context>` has it, or remove the line";
        let is_unknown = !has_file(catalog, path);
        return is_unknown.then(|| finding.with_label("takes nothing away").with_help(help));
    }
    match catalog.file_fault(&ItemId::of_file(path))? {
        ResolveError::NotFound { .. } if entry.value.optional => {
            let remark = Finding::remark("missing-optional", &message, place);
            let help = "it is optional, so that it is left out of the prompt";
            Some(remark.with_label("left out").with_help(help))
        }
        ResolveError::NotFound { .. } => {
            let help =
                "write the file, or add `optional=\"true\"` to leave it out while it is missing";
            let finding = Finding::error("unknown-file", &message, place);
            Some(finding.with_label("no such file").with_help(help))
        }
        fault => {
            let message = format!("{by} names a file that no run reads: {}", with_causes(fault));
            Some(Finding::error("unreadable-file", &message, place).with_label("refused for use"))
        }
    }
}

/// Returns `true` if the project has something at the path of a plain file.
fn has_file(catalog: &Catalog<'_>, path: &FilePath) -> bool {
    !matches!(catalog.project.library.file_texts(path), Err(ResolveError::NotFound { .. }))
}

/// The findings about files of the project in the context of directives of other spaces, which a run refuses (SPEC 17.3).
fn files_of_other_spaces(catalog: &Catalog<'_>, chain: &Chain<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, (id, link)) in chain.links.iter().enumerate() {
        let space = catalog.space(ItemKind::Directive, id);
        let Some(space) = space.filter(|space| *space != Space::Project) else { continue };
        for entry in &link.context {
            let ContextContent::File(path) = &entry.value.content else { continue };
            if entry.value.position == ContextPosition::Suppress {
                continue;
            }
            let message = format!(
                "directive `{id}` of the {space} space takes the file `{path}` into its context, which only directives of the project do"
            );
            let place = if place == 0 { entry.span.clone() } else { chain.extends_place() };
            let help = format!(
                "copy the directive with `rye load {id} --to project`, or write the text as knowledge"
            );
            let finding = Finding::error("foreign-file", &message, place);
            findings.push(finding.with_label("refused for use").with_help(&help));
        }
    }
    findings
}

/// The references of a hook, and what hooks cannot do at all.
fn hook(catalog: &Catalog<'_>, hook: &Hook, suppressed: &BTreeSet<String>) -> Vec<Finding> {
    let by = format!("hook `{}`", hook.id.value);
    let is_resolving = hook.event.value == HookEvent::ResolveExtends;
    let actions = hook.actions.iter().filter(|_| !is_resolving);
    let is_suppressed = |action: &Action| {
        let id = action.item_id.as_deref().unwrap_or_default();
        action.item_type.as_deref() == Some("knowledge") && suppressed.contains(id)
    };
    actions
        .filter_map(|action| match hook_action_problem(&action.value) {
            Some(problem) => {
                let message = format!("{by}: {problem}");
                Some(Finding::error("hook-action", &message, action.span.clone()))
            }
            None if is_suppressed(&action.value) => None,
            None => self::action(catalog, action, &by),
        })
        .collect()
}

/// The item that a call names. What is to be signed may be made by the run, so that it need not be there.
pub(super) fn action(catalog: &Catalog<'_>, action: &Spanned<Action>, by: &str) -> Option<Finding> {
    if action.value.primary == Primary::Sign {
        return None;
    }
    let kind: ItemKind = action.value.item_type.as_deref()?.parse().ok()?;
    let named = reference(catalog, kind, action.value.item_id.as_deref()?, by, &action.span);
    named.or_else(|| match callee(&action.value, catalog)? {
        Callee::Child(id) => reference(catalog, ItemKind::Directive, id.as_str(), by, &action.span),
        _ => None,
    })
}

/// A reference that leads nowhere; none where it leads somewhere, or holds placeholders that are filled when it runs.
fn reference(
    catalog: &Catalog<'_>,
    kind: ItemKind,
    id: &str,
    by: &str,
    place: &Range<usize>,
) -> Option<Finding> {
    let id: ItemId = id.parse().ok()?;
    (!catalog.has(kind, &id)).then(|| missing(code(kind), kind, &id, by, place))
}

fn code(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Directive => "unknown-directive",
        ItemKind::Knowledge => "unknown-knowledge",
        ItemKind::Tool | ItemKind::Config => "unknown-tool",
    }
}

/// An id with a placeholder that nothing fills: results of steps are placed into parameters alone, and an optional input may have no
/// value.
fn unfilled_id(directive: &Directive, action: &Spanned<Action>, by: &str) -> Option<Finding> {
    let id = action.value.item_id.as_deref()?;
    let is_optional = |name: &str| {
        let inputs = directive.inputs.iter().map(|input| &input.value);
        inputs.filter(|input| input.name.value == name).any(|input| !input.required)
    };
    let (why, help) = placeholders(id).into_iter().find_map(|found| match found.value {
        Placeholder::Step(_) => Some((
            "the result of a step is not placed into an id".to_owned(),
            "write the id, or name it by an input".to_owned(),
        )),
        Placeholder::Input { name, .. } if is_optional(&name) => Some((
            format!("the input `{name}` may have no value, and then there is no such item"),
            format!("give `{name}` a default, or make it required"),
        )),
        Placeholder::Input { .. } | Placeholder::Escaped { .. } => None,
    })?;
    let message = format!("{by} names `{id}`, and {why}");
    let finding = Finding::warning("unfilled-id", &message, action.span.clone());
    Some(finding.with_label("may stay as it is").with_help(&help))
}

fn missing(
    code: &'static str,
    kind: ItemKind,
    id: &ItemId,
    by: &str,
    place: &Range<usize>,
) -> Finding {
    let message = format!("{by} names the {kind} `{id}`, which no space has");
    let finding = Finding::error(code, &message, place.clone())
        .with_label(&format!("no such {kind}"))
        .with_help(&format!(
            "write `rye new {kind} {id}`, or name one that `rye list --kind {kind}` shows"
        ));
    Finding { missing: Some((kind, id.clone())), ..finding }
}
