//! A grant held against a risk table.

use std::{cmp::Reverse, fmt};

use thiserror::Error;

use super::{
    level::{Risk, RiskPolicy, UnknownName},
    table::{Classification, RiskTable},
};
use crate::{grant::Grant, pattern::Pattern};

impl RiskTable {
    /// One finding for each pattern of `grant`, the riskiest first.
    ///
    /// Nothing may be run when any [`verdict`](Finding::verdict) is [`Block`](Verdict::Block).
    pub fn assess(&self, grant: &Grant, acknowledgements: &[Acknowledgement]) -> Vec<Finding> {
        let finding = |pattern| self.finding(pattern, acknowledgements);
        let mut findings: Vec<_> = grant.patterns().iter().map(finding).collect();
        findings.sort_by_key(|finding| Reverse(finding.risk));
        findings
    }

    fn finding(&self, pattern: &Pattern, acknowledgements: &[Acknowledgement]) -> Finding {
        let classification = self.classify(pattern);
        let risk = classification.risk;
        let policy = self.policy(risk);
        let acknowledgement =
            acknowledgements.iter().find(|acknowledgement| acknowledgement.risk == risk);
        let verdict = match policy {
            _ if acknowledgement.is_some() => Verdict::Allow,
            RiskPolicy::Allow => Verdict::Allow,
            RiskPolicy::AcknowledgeRequired => Verdict::Warn,
            RiskPolicy::Block => Verdict::Block,
        };
        let acknowledged = acknowledgement.map(|acknowledgement| acknowledgement.reason.clone());
        Finding { pattern: pattern.clone(), classification, risk, policy, acknowledged, verdict }
    }
}

/// How risky one granted pattern is, and what follows from it.
///
/// Its `Display` is a message that says what to write when the verdict is not to allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is granted.
    pub pattern: Pattern,
    /// Which pattern of the table decided, and why.
    pub classification: Classification,
    /// How risky it is.
    pub risk: Risk,
    /// What the table wants to happen to that risk.
    pub policy: RiskPolicy,
    /// The reason of the acknowledgement of that risk, when there is one.
    pub acknowledged: Option<String>,
    /// What happens.
    pub verdict: Verdict,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, classification, risk, .. } = self;
        write!(f, "granting `{pattern}` is {classification}")?;
        match (self.verdict, &self.acknowledged) {
            (Verdict::Allow, None) => Ok(()),
            (Verdict::Allow, Some(reason)) => write!(f, ", acknowledged: {reason}"),
            (Verdict::Warn, _) => {
                write!(
                    f,
                    "; add `<acknowledge risk=\"{risk}\">` with the reason to `<permissions>`, or grant less"
                )
            }
            (Verdict::Block, _) => write!(
                f,
                " and refused; add `<acknowledge risk=\"{risk}\">` with the reason to `<permissions>`, or grant less"
            ),
        }
    }
}

/// What happens to a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a caller has to decide on each of them")]
pub enum Verdict {
    /// It is given.
    Allow,
    /// It is given, and the operator is told.
    Warn,
    /// It is refused, and with it the run.
    Block,
}

/// The statement of a directive's author that a risk is known, and why it is taken.
///
/// It holds for this risk alone: who acknowledges `unrestricted` has not acknowledged `elevated`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    risk: Risk,
    reason: String,
}

impl Acknowledgement {
    /// The content of `<acknowledge risk="RISK">REASON</acknowledge>`; white space around the reason is dropped.
    ///
    /// # Errors
    ///
    /// [`AcknowledgementError`] when there is no such risk, or the reason is empty.
    pub fn new(risk: &str, reason: &str) -> Result<Self, AcknowledgementError> {
        let risk: Risk = risk.parse().map_err(AcknowledgementError::UnknownRisk)?;
        match reason.trim() {
            "" => Err(AcknowledgementError::NoReason { risk }),
            reason => Ok(Self { risk, reason: reason.to_owned() }),
        }
    }

    /// The risk that is taken.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Why it is taken.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// An acknowledgement that acknowledges nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcknowledgementError {
    /// The risk has none of the four names.
    #[error("an acknowledgement names an {0}")]
    UnknownRisk(UnknownName),
    /// There is no reason, or only white space.
    #[error(
        "the acknowledgement of `{risk}` gives no reason; write between its tags why the risk is taken"
    )]
    NoReason {
        /// The risk that would be taken.
        risk: Risk,
    },
}
