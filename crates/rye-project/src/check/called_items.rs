//! The items that conditions of hooks compare called items with. A misspelt one never matches, and nothing else tells.

use std::ops::Range;

use rye_parse::{Condition, Hook, Operator, Spanned, did_you_mean, nearest_name};
use rye_types::ItemKind;
use serde_json::Value;

use super::Finding;
use super::catalog::Catalog;
use crate::plan::{CALLED_ITEMS, holds_items};
use crate::primary::KINDS;

/// The findings about the ids in a hook's condition.
///
/// They are warnings, because a file of the user space may name items of other projects.
pub(super) fn of_hook(catalog: &Catalog<'_>, hook: &Hook, source: &str) -> Vec<Finding> {
    let mut compared = Vec::new();
    if let Some(condition) = &hook.condition {
        add_compared(condition, source, &mut compared);
    }
    compared.iter().filter_map(|it| finding(catalog, &hook.id.value, it)).collect()
}

/// A comparison of the items that were called.
struct Compared<'h> {
    is_list: bool,
    operator: Operator,
    id: &'h str,
    place: Range<usize>,
}

fn add_compared<'h>(
    condition: &'h Spanned<Condition>,
    source: &str,
    found: &mut Vec<Compared<'h>>,
) {
    match &condition.value {
        Condition::Compare { path, operator, value: Some(Value::String(id)), .. } => {
            let is_list = path == CALLED_ITEMS;
            if holds_items(path) {
                let within = source.get(condition.span.clone()).and_then(|text| text.find(&**id));
                let place = within.map_or_else(
                    || condition.span.clone(),
                    |at| condition.span.start + at..condition.span.start + at + id.len(),
                );
                found.push(Compared { is_list, operator: *operator, id, place });
            }
        }
        Condition::Any(inner) | Condition::All(inner) => {
            inner.iter().for_each(|inner| add_compared(inner, source, found));
        }
        Condition::Not(inner) => add_compared(inner, source, found),
        _ => {}
    }
}

fn finding(catalog: &Catalog<'_>, hook: &str, compared: &Compared<'_>) -> Option<Finding> {
    let Compared { is_list, operator, id, place } = compared;
    if *is_list && matches!(operator, Operator::Eq | Operator::Ne) {
        let message = format!("hook `{hook}`: `called_items` is a list and never equals a text");
        let finding = Finding::warning("unfit-comparison", &message, place.clone());
        let help = format!("write `called_items contains \"{id}\"`");
        return Some(finding.with_label("always the same").with_help(&help));
    }
    if !matches!(operator, Operator::Eq | Operator::Ne | Operator::Contains) {
        return None;
    }
    let is_known = |kind: ItemKind| id.parse().is_ok_and(|id| catalog.has(kind, &id));
    if KINDS.into_iter().any(is_known) {
        return None;
    }
    let near = did_you_mean(near(catalog, id).as_deref());
    let message = format!("hook `{hook}`: there is no item `{id}` that could be called{near}");
    Some(Finding::warning("unknown-item", &message, place.clone()).with_label("never matches"))
}

/// The id that was probably meant: with slashes for dots, as patterns of permissions have them, or with other letters.
fn near(catalog: &Catalog<'_>, id: &str) -> Option<String> {
    let ids = || KINDS.into_iter().flat_map(|kind| catalog.ids(kind));
    let slashed = id.replace('.', "/");
    let same = ids().find(|known| known.as_str() == slashed);
    let near = same.map(|known| known.as_str());
    near.or_else(|| nearest_name(id, ids().map(|known| known.as_str()))).map(str::to_owned)
}
