//! Items that a file names and that a run refuses, because their signatures do not hold (SPEC 2.10, 12.1a).

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::path::Path;

use rye_parse::{Action, ConfigHook, ContextPosition, Directive, Hook, Primary, Spanned};
use rye_resolve::{FilePath, ItemId, PlacedHook};
use rye_types::ItemKind;

use super::catalog::Catalog;
use super::finding::{DRAFT, UNKNOWN_KEY, UNSIGNED};
use super::judged::Judged;
use super::{Finding, Severity, bounds};
use crate::aliases::tool_id;
use crate::needs::{CalledItems, Callee, GivenInputs, StepCall, callee, step_calls};

/// The findings about the items that a directive names. An item whose file is `among` the checked ones has them there instead.
pub(super) fn of_judged(
    catalog: &Catalog<'_>,
    judged: &Judged<'_>,
    among: &HashSet<&Path>,
) -> Vec<Finding> {
    let Judged { leaf, chain, calls, .. } = judged;
    let mut named = of_parts(catalog, leaf, calls);
    // A file that the chain suppresses is not read.
    let suppressed: BTreeSet<String> =
        chain.links.iter().flat_map(|(_, link)| bounds::suppressed_ids(link)).collect();
    named.retain(|it| it.id.file().is_none() || !bounds::is_suppressed(&suppressed, &it.id));
    let by_hook = of_hook_that_extends(&mut named, chain.extended_by, &chain.extends_place());
    named.extend(by_hook);
    let inherited = bounds::inherited(chain).into_iter();
    named.extend(inherited.map(|(kind, id)| {
        let by = "a directive that it extends".to_owned();
        Named { kind, id, by, place: chain.extends_place() }
    }));
    findings(catalog, named, among)
}

/// The findings about the items that a hooks file names, as [`of_judged`] has them.
pub(super) fn of_hooks_file(
    catalog: &Catalog<'_>,
    path: &Path,
    source: &str,
    among: &HashSet<&Path>,
) -> Vec<Finding> {
    let hooks = rye_parse::hooks(source, super::extension(path)).unwrap_or_default();
    let of_hook = |hook: &ConfigHook| {
        let by = format!("hook `{}`", hook.hook.id.value);
        let extends = hook.extends.as_ref();
        let extends =
            extends.and_then(|it| Named::new(ItemKind::Directive, &it.value, &by, &it.span));
        of_hook(catalog, &hook.hook).into_iter().chain(extends).collect::<Vec<_>>()
    };
    findings(catalog, hooks.iter().flat_map(|hook| of_hook(&hook.value)).collect(), among)
}

fn findings(catalog: &Catalog<'_>, named: Vec<Named>, among: &HashSet<&Path>) -> Vec<Finding> {
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for named in named {
        let Some((path, unvouched)) = catalog.unverified_file(named.kind, &named.id) else {
            continue;
        };
        // The signature of a plain file is no finding of the file itself.
        let is_told_there = named.id.file().is_none() && among.contains(path);
        if !is_told_there && told.insert((named.kind, named.id.clone())) {
            findings.push(named.finding(path, unvouched));
        }
    }
    findings
}

/// An item that a file names.
struct Named {
    kind: ItemKind,
    id: ItemId,
    /// The part of the file that names it.
    by: String,
    place: Range<usize>,
}

impl Named {
    fn new(kind: ItemKind, id: &str, by: &str, place: &Range<usize>) -> Option<Self> {
        let id = if kind == ItemKind::Tool { tool_id(id) } else { id };
        Some(Self { kind, id: id.parse().ok()?, by: by.to_owned(), place: place.clone() })
    }

    fn finding(&self, path: &Path, unvouched: &Finding) -> Finding {
        let Self { kind, id, by, place } = self;
        if let Some(file) = id.file() {
            return self.finding_of_file(&file, path, unvouched);
        }
        let reason = match unvouched.code {
            UNSIGNED => "its file is unsigned",
            DRAFT => "its file was changed since you signed it",
            "tampered" => "its file was changed after it was signed",
            _ => unvouched.message.split("; ").next().unwrap_or_default(),
        };
        let message = format!("{by} names the {kind} `{id}`, which a run refuses: {reason}");
        let path = path.display();
        let mend = match unvouched.code {
            UNSIGNED | DRAFT | "tampered" => format!("review `{path}`, then `rye sign {path}`"),
            UNKNOWN_KEY => "trust its key with `rye trust add`, or sign it yourself".to_owned(),
            _ => format!("the file is `{path}`"),
        };
        let judged = match kind {
            ItemKind::Tool => "; until then, calls are checked against the schema in that file",
            _ => "",
        };
        let finding = match unvouched.severity {
            Severity::Error => Finding {
                bars_signing: false,
                ..Finding::error("unverified-item", &message, place.clone())
            },
            _ => Finding::warning("unverified-item", &message, place.clone()),
        };
        finding.with_label("refused for use").with_help(&format!("{mend}{judged}"))
    }
}

impl Named {
    /// The finding about a plain file in the context. It is as severe as it would be for an item at the item's own file, because nothing
    /// else tells of a plain file.
    fn finding_of_file(&self, file: &FilePath, path: &Path, unvouched: &Finding) -> Finding {
        let reason = match unvouched.code {
            UNSIGNED => "it is unsigned",
            "tampered" => "it was changed after it was signed",
            // Without its consequence, which the message has already.
            DRAFT => unvouched.message.split(", so that").next().unwrap_or_default(),
            _ => unvouched.message.split("; ").next().unwrap_or_default(),
        };
        let by = &self.by;
        let message = format!("{by} names the file `{file}`, which a run refuses: {reason}");
        let finding = Finding {
            severity: unvouched.severity,
            bars_signing: false,
            ..Finding::error("unverified-file", &message, self.place.clone())
        };
        let help = match unvouched.code {
            UNKNOWN_KEY => "trust its key with `rye trust add`, or sign it yourself".to_owned(),
            _ => format!("review it, then `rye sign {}`", path.display()),
        };
        finding.with_label("refused for use").with_help(&help)
    }
}

const EXTENDS: &str = "`extends`";

/// An item that a directive names and that its threads need.
pub(crate) struct NamedItem {
    pub(crate) kind: ItemKind,
    pub(crate) id: ItemId,
    /// It is what the directive extends.
    pub(crate) is_extended: bool,
}

/// Returns the items that a directive names and that its threads need, where the hook `extending` may say what it extends.
pub(crate) fn named_by(
    items: &dyn CalledItems,
    directive: &Directive,
    extending: Option<&PlacedHook>,
) -> Vec<NamedItem> {
    let calls = step_calls(directive, &GivenInputs::new());
    let mut named = of_parts(items, directive, &calls);
    let by_hook = of_hook_that_extends(&mut named, extending, &directive.name.span);
    let item =
        |Named { kind, id, by, .. }: Named| NamedItem { kind, id, is_extended: by == EXTENDS };
    let by_hook = by_hook.map(|named| NamedItem { is_extended: true, ..item(named) });
    named.into_iter().map(item).chain(by_hook).collect()
}

/// The directive that a hook says to extend, in the place of the one that the directive itself names.
fn of_hook_that_extends(
    named: &mut Vec<Named>,
    hook: Option<&PlacedHook>,
    place: &Range<usize>,
) -> Option<Named> {
    let hook = hook?;
    named.retain(|it| it.by != EXTENDS);
    let by = format!("hook `{}` of `{}`", hook.hook.id.value, hook.location);
    Named::new(ItemKind::Directive, hook.extends.as_deref()?, &by, place)
}

/// The items of a directive whose steps make `calls`.
fn of_parts(items: &dyn CalledItems, directive: &Directive, calls: &[StepCall<'_>]) -> Vec<Named> {
    let referred = [
        (&directive.extends, EXTENDS),
        (&directive.continuation_directive, "`<continuation_directive>`"),
    ];
    let mut named: Vec<Named> = referred
        .into_iter()
        .filter_map(|(id, by)| {
            let id = id.as_ref()?;
            Named::new(ItemKind::Directive, &id.value, by, &id.span)
        })
        .collect();
    for entry in &directive.context {
        if let Some(id) = entry.value.content.id()
            && entry.value.position != ContextPosition::Suppress
            && let Ok(id) = ItemId::of_context(&id)
        {
            let by = format!("`<{}>`", entry.value.position.as_str());
            let place = entry.span.clone();
            named.push(Named { kind: ItemKind::Knowledge, id, by, place });
        }
    }
    for StepCall { step, placed, .. } in calls {
        named.extend(of_action(items, placed, &format!("step `{step}`")));
    }
    named.extend(directive.hooks.iter().flat_map(|hook| of_hook(items, &hook.value)));
    named
}

fn of_hook(items: &dyn CalledItems, hook: &Hook) -> Vec<Named> {
    let by = format!("hook `{}`", hook.id.value);
    hook.actions.iter().flat_map(|action| of_action(items, action, &by)).collect()
}

/// The items of a call that need to be verified: its own, and the directive that it starts. One that is loaded or signed does
/// not have to be.
fn of_action(items: &dyn CalledItems, action: &Spanned<Action>, by: &str) -> Vec<Named> {
    if action.value.primary != Primary::Execute {
        return Vec::new();
    }
    let own = || {
        let kind: ItemKind = action.value.item_type.as_deref()?.parse().ok()?;
        Named::new(kind, action.value.item_id.as_deref()?, by, &action.span)
    };
    let child = match callee(&action.value, items) {
        Some(Callee::Child(id)) => Named::new(ItemKind::Directive, id.as_str(), by, &action.span),
        _ => None,
    };
    own().into_iter().chain(child).collect()
}
