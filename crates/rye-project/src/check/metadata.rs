//! Checks of an item's metadata (SPEC 12.1a).

use std::ops::Range;

use rye_parse::{Directive, Knowledge, Spanned, nearest_name};
use rye_resolve::{ItemId, StatedLimits};
use rye_types::{Nanos, SpendLimit};

use super::Finding;
use super::catalog::Chain;
use crate::authoring::TEMPLATE_TEXTS;
use crate::config::ConfiguredLimits;

/// The findings about the metadata of a directive. `is_denied` tells that a finding about its permissions is there already.
pub(super) fn of_directive(
    directive: &Directive,
    id: &ItemId,
    chain: &Chain<'_>,
    is_denied: bool,
) -> Vec<Finding> {
    let place = || directive.name.span.clone();
    let lacks = [
        ("`<description>`", directive.description.is_none()),
        ("`version`", directive.version.is_none()),
        ("`<category>`", directive.category.is_none() && id.folder().is_some()),
        ("`<author>`", directive.author.is_none()),
    ];
    let missing = missing(&lacks).map(|names| {
        let help = "add what is missing: `version` to `<directive>`, the rest to `<metadata>`";
        lacking(&format!("the directive lacks {names}"), place()).with_help(help)
    });
    missing.into_iter().chain(of_thread(directive, chain, is_denied, place())).collect()
}

/// A directive that declares a model, limits or permissions runs as a thread and should declare all three. One that declares
/// none of them, such as a base that others extend, is not meant to run as a thread.
fn of_thread(
    directive: &Directive,
    chain: &Chain<'_>,
    is_denied: bool,
    place: Range<usize>,
) -> Option<Finding> {
    let own = StatedLimits::nearest(chain.links.first().copied());
    if own.by.is_empty() && directive.model.is_none() && directive.permissions.is_none() {
        return None;
    }
    // What cannot be followed may declare them.
    let is_broken = chain.broken.is_some();
    let has_model = is_broken || chain.model().is_some();
    let is_limited = is_broken || !chain.limits().by.is_empty();
    let has_permissions = is_denied || is_broken || chain.declaring().next().is_some();
    let lacks = [
        ("`<model>`", !has_model),
        ("`<limits>`", !is_limited),
        ("`<permissions>`", !has_permissions),
    ];
    let names = missing(&lacks)?;
    let message = format!("the directive can run as a thread and lacks {names}");
    let until = match (has_permissions, has_model && is_limited) {
        (true, _) => "the operator's defaults decide",
        (false, true) => "nothing is allowed",
        (false, false) => "the operator's defaults decide, and nothing is allowed",
    };
    let label = if has_model && is_limited { "nothing is allowed" } else { "defaults decide" };
    Some(
        Finding::warning("missing-thread-metadata", &message, place)
            .with_label(label)
            .with_help(&format!("add it to `<metadata>`; until then {until}")),
    )
}

/// The inherited limits that allow more than a directive without them would have (SPEC D19).
pub(super) fn inherited_limits(chain: &Chain<'_>, configured: &ConfiguredLimits) -> Vec<Finding> {
    let Some((leaf, _)) = chain.links.first() else { return Vec::new() };
    let StatedLimits { limits: stated, by, .. } = chain.limits();
    let default = &configured.limits;
    let count = |stated: &Option<Spanned<u64>>, default: u64| {
        let stated = stated.as_ref()?.value;
        (default < stated).then(|| (stated.to_string(), default.to_string()))
    };
    let spend = stated.spend.as_ref().map(|spend| spend.value);
    let spend = match (spend, default.spend) {
        (Some(SpendLimit::AtMost(stated)), SpendLimit::AtMost(default)) if default < stated => {
            Some((dollars(stated), dollars(default)))
        }
        _ => None,
    };
    let rows = [
        ("turns", count(&stated.turns, default.turns)),
        ("tokens", count(&stated.tokens, default.tokens)),
        ("spend", spend),
        ("duration_seconds", count(&stated.duration_seconds, default.duration_seconds)),
        ("spawns", count(&stated.spawns, default.spawns)),
        ("depth", count(&stated.depth, default.depth)),
    ];
    let of_base = |name: &str| by.get(name).filter(|by| *by != leaf);
    let is_open = |name: &str| !configured.by_operator.contains(name);
    rows.into_iter()
        .filter(|(name, _)| is_open(name))
        .filter_map(|(name, higher)| {
            let ((stated, default), by) = (higher?, of_base(name)?);
            let message = format!(
                "`{name}` is {stated}, inherited from `{by}`, and above the configured default of {default}"
            );
            let finding = Finding::warning("inherited-limit", &message, chain.extends_place());
            Some(finding.with_label("inherited from there").with_help(&format!(
                "accept it with `{name}=\"{stated}\"` in `<limits>`, or state a lower one there or in your own `config/agent/resilience.yaml`"
            )))
        })
        .collect()
}

/// The amount as `<limits>` has it.
fn dollars(amount: Nanos) -> String {
    amount.to_string().trim_end_matches(" USD").to_owned()
}

pub(super) fn of_knowledge(knowledge: &Knowledge, id: &ItemId, source: &str) -> Option<Finding> {
    let block = || metadata(source);
    if knowledge.metadata.is_empty() && is_below_heading(source, block().start) {
        let message =
            "the `yaml` block of the knowledge entry does not begin the file, so that it is text";
        let finding =
            Finding::warning("missing-metadata", message, block()).with_label("read as text");
        return Some(finding.with_help("move the block to the start of the file"));
    }
    let lacks = [
        ("title", knowledge.title.is_none()),
        ("category", knowledge.category.is_none() && id.folder().is_some()),
        ("version", knowledge.version.is_none()),
    ];
    let names = missing(&lacks.map(|(name, is_missing)| (format!("`{name}`"), is_missing)))?;
    let wanted = || lacks.iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| *name);
    let meant = knowledge.metadata.keys().find_map(|key| {
        let known = nearest_name(key, wanted())?;
        Some(format!(
            "write `{known}` in place of `{key}` in the metadata at the start of the file"
        ))
    });
    let help =
        meant.unwrap_or_else(|| "add it to the metadata at the start of the file".to_owned());
    Some(lacking(&format!("the knowledge entry lacks {names}"), block()).with_help(&help))
}

/// The description of a directive that is still the template's.
pub(super) fn template_description(directive: &Directive) -> Option<Finding> {
    let description = directive.description.as_ref()?;
    let is_template = TEMPLATE_TEXTS.descriptions.contains(description.value.trim());
    is_template.then(|| of_template("description", description.span.clone()))
}

/// The body of a knowledge entry that is still the template's.
pub(super) fn template_body(knowledge: &Knowledge) -> Option<Finding> {
    let body = &knowledge.body;
    let is_template = TEMPLATE_TEXTS.bodies.contains(body.value.trim());
    is_template.then(|| of_template("text", body.span.clone()))
}

fn of_template(what: &str, place: Range<usize>) -> Finding {
    let message = format!("the {what} is still that of the template, and a model would read it");
    let finding = Finding::warning("template-text", &message, place);
    finding.with_label("says what to write").with_help("write it in your own words")
}

fn lacking(message: &str, place: Range<usize>) -> Finding {
    Finding::warning("missing-metadata", message, place).with_label("incomplete")
}

/// The names of what is missing, as a list in a sentence.
fn missing<N: AsRef<str>>(lacks: &[(N, bool)]) -> Option<String> {
    let missing = lacks.iter().filter(|(_, is_missing)| *is_missing);
    let names: Vec<&str> = missing.map(|(name, _)| name.as_ref()).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some((*name).to_owned()),
        [names @ .., last] => Some(format!("{} and {last}", names.join(", "))),
    }
}

/// The line that begins metadata.
const METADATA: &str = "```yaml";

/// Returns `true` if a `yaml` block begins at `start` with nothing but headings and comments before it. Further below, such a block is
/// mostly an example.
fn is_below_heading(source: &str, start: usize) -> bool {
    let is_heading = |line: &str| line.starts_with('#') || line.starts_with("<!--");
    let mut before = source.get(..start).unwrap_or_default().lines();
    source.get(start..).is_some_and(|rest| rest.starts_with(METADATA))
        && before.all(|line| line.trim().is_empty() || is_heading(line))
}

/// The line that begins the metadata of a knowledge entry, or the beginning of the file.
fn metadata(source: &str) -> Range<usize> {
    let start = source.find(METADATA).unwrap_or_default();
    let rest = source.get(start..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default().trim_end();
    start..start + line.len()
}
