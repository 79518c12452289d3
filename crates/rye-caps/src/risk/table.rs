//! The classification of patterns by risk.

mod read;

use std::{cmp::Reverse, collections::BTreeMap, fmt};

pub use self::read::{RiskTableError, RiskTableProblem, RiskTableProblemKind};
use rye_types::{Risk, RiskPolicy};

use crate::{
    capability::Capability,
    inclusion,
    pattern::{Glob, Pattern, Shape},
};

/// A table that classifies patterns by the risk of granting them.
///
/// The default table classifies nothing, so that everything is [`Unrestricted`](Risk::Unrestricted).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RiskTable {
    policies: BTreeMap<Risk, RiskPolicy>,
    /// Invariant: sorted, the most specific first and, of equally specific ones, the riskiest first.
    rules: Vec<Rule>,
}

/// One pattern of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    risk: Risk,
    description: Option<String>,
}

impl RiskTable {
    fn new(policies: BTreeMap<Risk, RiskPolicy>, mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(|rule| Reverse((specificity(&rule.pattern), rule.risk)));
        Self { policies, rules }
    }

    /// Returns the policy for grants of this risk.
    pub fn policy(&self, risk: Risk) -> RiskPolicy {
        self.policies.get(&risk).copied().unwrap_or(risk.default_policy())
    }

    /// Returns the risk of `capability`: that of the most specific pattern that covers it.
    pub fn classify_capability(&self, capability: &Capability) -> Classification {
        match self.rules.iter().find(|rule| rule.pattern.matches(capability)) {
            Some(rule) => Classification::by(rule),
            None => Classification::of_unknown(),
        }
    }

    /// Returns the risk of granting `pattern`. It is at least as high as that of every capability that the pattern
    /// covers.
    pub fn classify(&self, pattern: &Pattern) -> Classification {
        let of_globs = pattern.globs().iter().filter_map(|glob| self.classify_glob(glob));
        let worst =
            of_globs.reduce(|worst, next| if next.risk > worst.risk { next } else { worst });
        worst.unwrap_or_else(Classification::nothing)
    }

    /// Returns `None` if `glob` covers no capability.
    fn classify_glob(&self, glob: &Glob) -> Option<Classification> {
        if let Shape::Exact(text) = glob.shape() {
            let capability: Capability = text.parse().ok()?;
            return Some(self.classify_capability(&capability));
        }
        inclusion::example(std::slice::from_ref(glob))?;
        let mut worst: Option<&Rule> = None;
        for rule in &self.rules {
            let is_covered = rule.pattern.globs().iter().any(|outer| outer.covers_head_of(glob));
            if !is_covered && !inclusion::may_meet(glob, &rule.pattern) {
                continue;
            }
            if worst.is_none_or(|worst| rule.risk > worst.risk) {
                worst = Some(rule);
            }
            if is_covered || inclusion::covers_glob([&rule.pattern], glob) {
                // Less specific rules decide on nothing that `glob` covers.
                return worst.map(Classification::by);
            }
        }
        let together = self.rules.iter().map(|rule| &rule.pattern);
        let worst = worst.filter(|_| inclusion::covers_glob(together, glob));
        Some(worst.map_or_else(Classification::of_unknown, Classification::by))
    }
}

/// A risk, with the pattern of the table that assigns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Classification {
    /// The risk.
    pub risk: Risk,
    /// The pattern of the table that decided; `None` if no pattern covers everything.
    pub by: Option<Pattern>,
    /// The description of that pattern in the table.
    pub description: Option<String>,
}

impl Classification {
    fn by(rule: &Rule) -> Self {
        Self {
            risk: rule.risk,
            by: Some(rule.pattern.clone()),
            description: rule.description.clone(),
        }
    }

    fn of_unknown() -> Self {
        Self { risk: Risk::Unrestricted, by: None, description: None }
    }

    /// The classification of a pattern that covers no capability, and therefore does no harm.
    fn nothing() -> Self {
        Self { risk: Risk::Safe, by: None, description: None }
    }
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.risk)?;
        match (&self.by, &self.description) {
            (Some(by), Some(description)) => write!(f, " by `{by}` ({description})"),
            (Some(by), None) => write!(f, " by `{by}`"),
            (None, _) if self.risk == Risk::Safe => f.write_str(" because it covers nothing"),
            (None, _) => f.write_str(" because the risk table does not cover all of it"),
        }
    }
}

/// Returns the number of dots, and the length. Dots in a class join no segments and do not count.
fn specificity(pattern: &Pattern) -> (usize, usize) {
    let text = pattern.as_str();
    let outside_of_classes =
        text.split('[').map(|part| part.split_once(']').map_or(part, |(_, outside)| outside));
    (outside_of_classes.map(|part| part.matches('.').count()).sum(), text.len())
}
