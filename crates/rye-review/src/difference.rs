//! Differences between two directives, or between two states of one (SPEC 8.7).

mod json;
pub(crate) mod rows;
mod text;
mod widening;

use std::collections::BTreeMap;

use rye_caps::{Capability, Grant, LayerName, Pattern};
use rye_parse::LineComparer;
use rye_project::TextChange;

use crate::explain::{Explained, LimitFacts};

/// The facts of a change that a reviewer has to know. Everything is empty when there is no change.
///
/// Its `Display` is the text that `rye diff` prints. [`to_json`](Self::to_json) has the same as data.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Difference {
    /// The changes of the text that a model reads, as unified diffs of the system message and of the first
    /// user message.
    pub prompt: Vec<TextChange>,
    /// Permissions that only the second declares, decided by what patterns cover and not by how they are written.
    pub gained: Vec<PatternChange>,
    /// Permissions that only the first declares.
    pub lost: Vec<PatternChange>,
    /// The names of the limits that are higher in the second.
    pub raised: Vec<&'static str>,
    /// A sentence for each wider right of the second directive. Examples are a tool that does more or is
    /// another program, and a call that waits for no decision any more. Others are a finding that is missing,
    /// and a bound that is gone.
    pub widened: Vec<String>,
    /// Everything else, in sections: items, signers, context, tools, limits, model, inputs, outputs, hooks
    /// and configuration.
    pub sections: Vec<Section>,
    /// `true` if a side has an item that is a draft of the operator's, or unsigned.
    pub draft: bool,
}

/// A pattern that covers something which the other side does not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PatternChange {
    /// The pattern.
    pub pattern: Pattern,
    /// A capability that it covers and the other side does not; `None` when that took too long to decide, so that the
    /// pattern counts as changed.
    pub example: Option<Capability>,
}

/// The changes of one sort.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The sort, such as `limits`.
    pub name: &'static str,
    /// The changes, sorted by name; never empty.
    pub changes: Vec<Change>,
}

/// One thing that is new, gone or different.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The subject of the change, such as `turns` or ``knowledge `notes/style` ``.
    pub name: String,
    /// The old value; `None` for a new row.
    pub before: Option<String>,
    /// The new value; `None` for a row that is gone.
    pub after: Option<String>,
}

impl Difference {
    /// Compares `before` with `after`. The folders of the two directives do not matter, and their spaces do.
    #[must_use]
    pub fn between(before: &Explained, after: &Explained) -> Self {
        let old = declared_grant(before);
        let new = declared_grant(after);
        let sections = rows::SECTIONS.iter().filter_map(|(name, rows)| {
            let changes = changes(&rows(before), &rows(after));
            (!changes.is_empty()).then_some(Section { name, changes })
        });
        Self {
            prompt: prompt(before, after),
            gained: missing_patterns(&new, &old),
            lost: missing_patterns(&old, &new),
            raised: raised_limits(before, after),
            widened: widening::widenings(before, after),
            sections: sections.collect(),
            draft: [before, after].iter().any(|side| !side.drafts.is_empty()),
        }
    }

    /// All that a directive declares which was not there before.
    #[must_use]
    pub fn of_new(directive: &Explained) -> Self {
        Self {
            gained: missing_patterns(&declared_grant(directive), &Grant::nothing()),
            draft: !directive.drafts.is_empty(),
            ..Self::default()
        }
    }

    /// All that a directive declared which is gone.
    #[must_use]
    pub fn of_gone(directive: &Explained) -> Self {
        Self {
            lost: missing_patterns(&declared_grant(directive), &Grant::nothing()),
            draft: !directive.drafts.is_empty(),
            ..Self::default()
        }
    }

    /// Returns `true` if the second may do something that the first may not, or has a higher limit. What cannot be compared counts as
    /// more: another program behind a tool, and other configuration of the project that bounds tools.
    #[must_use]
    pub fn widens(&self) -> bool {
        !self.gained.is_empty() || !self.raised.is_empty() || !self.widened.is_empty()
    }

    /// Returns `true` if nothing changed that this can tell of.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { prompt, gained, lost, raised, widened, sections, draft: _ } = self;
        // A limit that was raised is among the sections too.
        raised.is_empty()
            && widened.is_empty()
            && prompt.is_empty()
            && gained.is_empty()
            && lost.is_empty()
            && sections.is_empty()
    }
}

/// The limits that are higher in `after`; what cannot be compared counts as higher where it differs.
fn raised_limits(before: &Explained, after: &Explained) -> Vec<&'static str> {
    let is_higher = |limit: &&LimitFacts| {
        let old = before.limits.iter().find(|old| old.name == limit.name);
        old.is_none_or(|old| old.value != limit.value && !is_lower(&limit.value, &old.value))
    };
    after.limits.iter().filter(is_higher).map(|limit| limit.name).collect()
}

fn is_lower(value: &str, than: &str) -> bool {
    let amount = |text: &str| text.trim_end_matches(" USD").parse::<f64>().ok();
    match (amount(value), amount(than)) {
        (Some(value), Some(than)) => value < than,
        // Less than what is unlimited.
        (Some(_), None) => than == "unlimited",
        (None, _) => false,
    }
}

fn prompt(before: &Explained, after: &Explained) -> Vec<TextChange> {
    let mut comparer = LineComparer::default();
    let system = |explained: &Explained| explained.system.clone().unwrap_or_default();
    [
        ("system message", system(before), system(after)),
        ("first user message", before.first_user_message.clone(), after.first_user_message.clone()),
    ]
    .into_iter()
    .filter_map(|(name, before, after)| TextChange::between(&mut comparer, name, &before, &after))
    .collect()
}

/// Returns the grant of the declaring directive.
fn declared_grant(explained: &Explained) -> Grant {
    let layer = explained.layers.iter().find(|layer| matches!(layer.name, LayerName::Directive(_)));
    layer.map(|layer| layer.grant.clone()).unwrap_or_default()
}

/// The patterns of `inner` that `outer` does not cover as a whole.
fn missing_patterns(inner: &Grant, outer: &Grant) -> Vec<PatternChange> {
    let patterns = inner.patterns().iter();
    patterns
        .filter_map(|pattern| {
            let single: Grant = std::iter::once(pattern.clone()).collect();
            let reason = outer.covers(&single).err()?;
            Some(PatternChange { pattern: pattern.clone(), example: reason.capability().cloned() })
        })
        .collect()
}

pub(crate) fn changes(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Change> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let mut names: Vec<&String> = after.keys().chain(gone).collect();
    names.sort_unstable();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Change {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}
