//! The use of the declared permissions, and the least grant that covers the needs (SPEC 9.7).

use rye_caps::{Grant, Pattern};

use super::{Need, Needs};
use crate::aliases::canonical;

/// The use of a declared permission, when only needed permissions stay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reader has to decide on each of them")]
pub enum Use {
    /// All that it covers may be needed.
    Used,
    /// These would do.
    Narrower(Vec<Pattern>),
    /// Nothing that is known needs all of it, and a part of the directive has needs that are not known.
    Unknown,
    /// Nothing needs it, or what does is covered by a narrower one.
    Unused,
}

/// Returns the grants that stay. The used ones stay as they are written, without those that another one
/// covers.
#[must_use]
pub fn least(uses: &[(Pattern, Use)]) -> Grant {
    let left = uses.iter().flat_map(|(pattern, kept)| kept.parts(pattern));
    without_redundant(&left.collect())
}

fn without_redundant(grant: &Grant) -> Grant {
    let redundant = grant.redundant();
    let is_kept = |pattern: &&Pattern| redundant.iter().all(|(inner, _)| inner != *pattern);
    grant.patterns().iter().filter(is_kept).cloned().collect()
}

/// Returns the use of each pattern of `written`, in their order. An alias counts as its tool. A wildcard is
/// used as the tools are whose aliases it matches.
#[must_use]
pub fn uses_as_written(written: &Grant, needs: &Needs) -> Vec<(Pattern, Use)> {
    let mut uses = known_uses(written, &needs.needs);
    let is_open = needs.are_open();
    for (pattern, kept) in uses.iter_mut().filter(|(_, kept)| *kept != Use::Used) {
        let is_meant = *kept == Use::Unused && needs.may_be_meant(pattern);
        if is_open || is_meant {
            *kept = Use::Unknown;
        }
    }
    uses
}

fn known_uses(written: &Grant, needs: &[Need]) -> Vec<(Pattern, Use)> {
    let meanings: Vec<Vec<Pattern>> = written.patterns().iter().cloned().map(canonical).collect();
    let mut uses = uses(&meanings.iter().flatten().cloned().collect(), needs);
    let is_written = |pattern: &Pattern| meanings.iter().any(|it| it.first() == Some(pattern));
    for meaning in &meanings {
        let [own, tools @ ..] = meaning.as_slice() else { continue };
        let rows = uses.iter().filter(|(row, _)| tools.contains(row) && !is_written(row));
        let parts: Vec<Pattern> = rows.flat_map(|(row, kept)| kept.parts(row)).collect();
        let row = uses.iter_mut().find(|(row, _)| row == own).filter(|_| !parts.is_empty());
        row.into_iter().for_each(|(_, kept)| kept.take_in(&parts));
    }
    uses.retain(|(row, _)| is_written(row));
    uses
}

impl Use {
    /// Returns the needed part of `pattern`.
    fn parts(&self, pattern: &Pattern) -> Vec<Pattern> {
        match self {
            Self::Used | Self::Unknown => vec![pattern.clone()],
            Self::Narrower(parts) => parts.clone(),
            Self::Unused => Vec::new(),
        }
    }

    /// Adds tools that are needed by their aliases.
    fn take_in(&mut self, tools: &[Pattern]) {
        let own = match self {
            // All that the wildcard covers may be needed, and its aliases with it.
            Self::Used | Self::Unknown => return,
            Self::Narrower(parts) => std::mem::take(parts),
            Self::Unused => Vec::new(),
        };
        *self = Self::Narrower(own.into_iter().chain(tools.iter().cloned()).collect());
    }
}

/// Returns the use of each pattern of `declared`, in their order.
fn uses(declared: &Grant, needs: &[Need]) -> Vec<(Pattern, Use)> {
    let mut parts: Vec<(Pattern, Vec<Pattern>)> =
        declared.patterns().iter().map(|pattern| (pattern.clone(), Vec::new())).collect();
    for (giver, given) in needs.iter().flat_map(|need| givers(declared, &need.pattern)) {
        let row = parts.iter_mut().find(|(pattern, _)| *pattern == giver);
        row.into_iter().for_each(|(_, parts)| parts.extend(given.iter().cloned()));
    }
    let uses: Vec<(Pattern, Use)> = parts
        .into_iter()
        .map(|(pattern, parts)| (pattern.clone(), used(&pattern, &parts.into_iter().collect())))
        .collect();
    let least = least(&uses);
    uses.into_iter()
        .map(|(pattern, kept)| {
            let kept = left(&pattern, kept, &least);
            (pattern, kept)
        })
        .collect()
}

/// Returns the rest of a use when no permission is granted twice.
fn left(pattern: &Pattern, kept: Use, least: &Grant) -> Use {
    let is_left = |pattern: &Pattern| least.patterns().contains(pattern);
    match kept {
        Use::Unknown => Use::Unknown,
        Use::Used if is_left(pattern) => Use::Used,
        Use::Used | Use::Unused => Use::Unused,
        Use::Narrower(parts) => match parts.into_iter().filter(is_left).collect::<Vec<_>>() {
            parts if parts.is_empty() => Use::Unused,
            parts => Use::Narrower(parts),
        },
    }
}

/// A declared pattern, and what of it is needed.
type Giver = (Pattern, Vec<Pattern>);

/// Returns the patterns that cover `need`. The narrowest pattern that covers it alone comes first. Without
/// one, the result has every pattern with a part of `need` that no narrower pattern has.
fn givers(declared: &Grant, need: &Pattern) -> Vec<Giver> {
    let covering: Vec<&Pattern> =
        declared.patterns().iter().filter(|pattern| pattern.covers(need).is_ok()).collect();
    let is_narrowest = |pattern: &&&Pattern| {
        covering.iter().all(|other| other.covers(pattern).is_ok() || pattern.covers(other).is_err())
    };
    if let Some(narrowest) = covering.iter().find(is_narrowest).or(covering.first()) {
        return vec![((*narrowest).clone(), vec![need.clone()])];
    }
    let mut givers: Vec<Giver> = declared
        .patterns()
        .iter()
        .map(|pattern| (pattern.clone(), parts(pattern, need)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    givers.sort_by_key(|(pattern, _)| std::cmp::Reverse(count_covered(pattern, declared)));
    without_wide(givers)
}

/// Counts the patterns of `grant` that the pattern covers.
fn count_covered(pattern: &Pattern, grant: &Grant) -> usize {
    grant.patterns().iter().filter(|other| pattern.covers(other).is_ok()).count()
}

/// Leaves out, the widest first, each whose part the others have.
fn without_wide(givers: Vec<Giver>) -> Vec<Giver> {
    let mut kept = givers.clone();
    for (giver, parts) in givers {
        let others = kept.iter().filter(|(other, _)| *other != giver);
        let others: Grant = others.flat_map(|(_, parts)| parts.iter().cloned()).collect();
        if others.covers(&parts.into_iter().collect()).is_ok() {
            kept.retain(|(other, _)| *other != giver);
        }
    }
    kept
}

/// Returns the common part of `pattern` and `need`. A part that no pattern spells counts as all of it.
fn parts(pattern: &Pattern, need: &Pattern) -> Vec<Pattern> {
    let respelled = spelled_out(pattern);
    let met = respelled.into_iter().filter(|pattern| pattern.meets(need));
    met.map(|pattern| if pattern.covers(need).is_ok() { need.clone() } else { pattern }).collect()
}

/// A pattern, or the two that it means when it is spelled with `fetch` (SPEC D4).
fn spelled_out(pattern: &Pattern) -> Vec<Pattern> {
    let Some(rest) = pattern.as_str().strip_prefix("rye.fetch.") else {
        return vec![pattern.clone()];
    };
    let respelled = ["search", "load"].map(|action| format!("rye.{action}.{rest}").parse().ok());
    respelled.into_iter().flatten().collect()
}

fn used(pattern: &Pattern, parts: &Grant) -> Use {
    match parts.is_empty() {
        true => Use::Unused,
        false if parts.covers(&Grant::from_iter([pattern.clone()])).is_ok() => Use::Used,
        false => Use::Narrower(without_redundant(parts).patterns().to_vec()),
    }
}

/// Returns `true` if a run would be denied all of `need`.
#[must_use]
pub fn is_denied(declared: &Grant, need: &Need) -> bool {
    declared.patterns().iter().all(|pattern| !pattern.meets(&need.pattern))
}

#[cfg(test)]
mod tests;
