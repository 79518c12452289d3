//! The assessment of a grant by a risk table.

use std::{cmp::Reverse, fmt};

use rye_types::{Risk, RiskPolicy, UnknownName};
use thiserror::Error;

use super::table::{Classification, RiskTable};
use crate::{capability::Capability, grant::Grant, invocation::Invocation, pattern::Pattern};

impl RiskTable {
    /// Returns one finding for each pattern of `grant`, the riskiest first.
    ///
    /// `invocations` are the calls that exist: a pattern that covers an item is at least as risky as the functions that
    /// the item stands for (`SPEC 9.6b`).
    ///
    /// If any [`verdict`](Finding::verdict) is [`Block`](Verdict::Block), the caller must run nothing.
    pub fn assess(
        &self,
        grant: &Grant,
        invocations: &[Invocation],
        acknowledgements: &[Acknowledgement],
    ) -> Vec<Finding> {
        let standing: Vec<Standing<'_>> =
            invocations.iter().filter_map(|invocation| self.riskiest(invocation)).collect();
        let finding = |pattern| self.finding(pattern, &standing, acknowledgements);
        let mut findings: Vec<_> = grant.patterns().iter().map(finding).collect();
        findings.sort_by_key(|finding| Reverse(finding.risk));
        findings
    }

    /// Returns the riskiest function that an item stands for, if there is one.
    fn riskiest<'a>(&self, invocation: &'a Invocation) -> Option<Standing<'a>> {
        let functions = invocation.functions().iter();
        let classified = functions.map(|function| (function, self.classify_capability(function)));
        let worst = classified.max_by_key(|(_, classification)| classification.risk);
        worst.map(|(function, classification)| Standing {
            item: invocation.item(),
            function,
            classification,
        })
    }

    fn finding(
        &self,
        pattern: &Pattern,
        standing: &[Standing<'_>],
        acknowledgements: &[Acknowledgement],
    ) -> Finding {
        let own = self.own_classification(pattern, standing);
        let worse = standing.iter().filter(|it| own.risk < it.classification.risk);
        let worst =
            worse.filter(|it| pattern.matches(it.item)).max_by_key(|it| it.classification.risk);
        let stands_for = worst.map(|it| (it.item.clone(), it.function.clone()));
        let classification = worst.map_or(own, |it| it.classification.clone());
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
        let pattern = pattern.clone();
        Finding { pattern, classification, stands_for, risk, policy, acknowledged, verdict }
    }
}

impl RiskTable {
    /// Returns the risk that the table gives to the pattern itself.
    ///
    /// A row that covers both an item and the function behind it says nothing of the item that a nearer row for the function does not
    /// say better: a tool that narrows `write` is no riskier than `write`. A row for the item alone stands.
    fn own_classification(&self, pattern: &Pattern, standing: &[Standing<'_>]) -> Classification {
        let own = self.classify(pattern);
        let is_only = |it: &&Standing<'_>| *pattern == Pattern::exactly(it.item);
        let Some(item) = standing.iter().find(is_only) else { return own };
        let is_general = own.by.as_ref().is_some_and(|row| row.matches(item.function));
        match is_general && item.classification.risk < own.risk {
            true => item.classification.clone(),
            false => own,
        }
    }
}

/// An item with the riskiest of the functions that it stands for.
struct Standing<'a> {
    item: &'a Capability,
    function: &'a Capability,
    classification: Classification,
}

/// The risk of one granted pattern, and the verdict on it.
///
/// Unless the verdict is to allow, its `Display` says what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The granted pattern.
    pub pattern: Pattern,
    /// The pattern of the table that decided, and its description.
    pub classification: Classification,
    /// The item that the pattern covers and the function behind it, if that function is riskier than the pattern
    /// itself.
    pub stands_for: Option<(Capability, Capability)>,
    /// The risk.
    pub risk: Risk,
    /// The policy of the table for this risk.
    pub policy: RiskPolicy,
    /// The reason of the acknowledgement of this risk, if there is one.
    pub acknowledged: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Finding {
    /// Returns the risk of the grant and its reason, without advice.
    pub fn statement(&self) -> String {
        let Self { pattern, classification, stands_for, .. } = self;
        match stands_for {
            None => format!("granting `{pattern}` is {classification}"),
            Some((item, function)) => format!(
                "granting `{pattern}` is {classification}, because `{item}` stands for `{function}`"
            ),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let risk = self.risk;
        f.write_str(&self.statement())?;
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
                "{} and refused; add `<acknowledge risk=\"{risk}\">` with the reason to `<permissions>`, or grant less",
                if self.stands_for.is_some() { "," } else { "" }
            ),
        }
    }
}

/// The outcome of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a caller has to decide on each of them")]
pub enum Verdict {
    /// The grant is given.
    Allow,
    /// The grant is given, and the operator is warned.
    Warn,
    /// The grant is refused, and so is the run.
    Block,
}

/// A statement of a directive's author that a risk is known, with the reason for taking it.
///
/// It applies to this risk only: an acknowledgement of `unrestricted` does not acknowledge `elevated`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    risk: Risk,
    reason: String,
}

impl Acknowledgement {
    /// Makes an acknowledgement from `<acknowledge risk="RISK">REASON</acknowledge>`. White space around the reason is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`AcknowledgementError`] if the risk is unknown, or the reason has no visible letter or digit.
    pub fn new(risk: &str, reason: &str) -> Result<Self, AcknowledgementError> {
        let risk: Risk = risk.parse().map_err(AcknowledgementError::UnknownRisk)?;
        if !reason.chars().any(is_written) {
            return Err(AcknowledgementError::NoReason { risk });
        }
        Ok(Self { risk, reason: reason.trim().to_owned() })
    }

    /// The acknowledged risk.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// The reason for taking the risk.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Returns `true` for a letter or a digit of any script. The fillers of Hangul count as letters, but are invisible.
fn is_written(character: char) -> bool {
    let is_filler = matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    character.is_alphanumeric() && !is_filler
}

/// An acknowledgement that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcknowledgementError {
    /// The name is not one of the four risks.
    #[error("an acknowledgement names an {0}")]
    UnknownRisk(UnknownName),
    /// The reason is empty or has nothing readable: only white space, control characters, characters without width, or
    /// marks.
    #[error(
        "the acknowledgement of `{risk}` gives no reason; write between its tags why the risk is taken"
    )]
    NoReason {
        /// The risk in the acknowledgement.
        risk: Risk,
    },
}
