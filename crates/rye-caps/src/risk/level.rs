//! The four risks and the policies for them.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::untrusted_text::sanitize;

/// The harm that a grant can do, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the risks are complete by definition: tables and files name them"
)]
pub enum Risk {
    /// Reads and changes nothing.
    Safe,
    /// Changes files of the project.
    Write,
    /// Runs commands or reaches other systems.
    Elevated,
    /// Does anything that the user could do.
    Unrestricted,
}

impl Risk {
    /// All risks, the least first.
    pub const ALL: [Self; 4] = [Self::Safe, Self::Write, Self::Elevated, Self::Unrestricted];

    /// The name in tables and in `<acknowledge risk="…">`, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Write => "write",
            Self::Elevated => "elevated",
            Self::Unrestricted => "unrestricted",
        }
    }

    /// The policy for this risk if the table has none.
    pub(super) fn default_policy(self) -> RiskPolicy {
        match self {
            Self::Safe | Self::Write => RiskPolicy::Allow,
            Self::Elevated => RiskPolicy::AcknowledgeRequired,
            Self::Unrestricted => RiskPolicy::Block,
        }
    }
}

impl FromStr for Risk {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|risk| risk.as_str() == name).ok_or_else(|| UnknownName {
            what: "risk",
            found: sanitize(name),
            valid: "`safe`, `write`, `elevated`, `unrestricted`",
        })
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The policy for grants of one risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the policies are complete by definition: tables name them"
)]
pub enum RiskPolicy {
    /// The grant is given.
    Allow,
    /// The grant is given, with a warning unless the risk is acknowledged.
    AcknowledgeRequired,
    /// The grant is refused unless the risk is acknowledged.
    Block,
}

impl RiskPolicy {
    /// All policies, the mildest first.
    pub const ALL: [Self; 3] = [Self::Allow, Self::AcknowledgeRequired, Self::Block];

    /// The name in tables, in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AcknowledgeRequired => "acknowledge_required",
            Self::Block => "block",
        }
    }
}

impl FromStr for RiskPolicy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name).ok_or_else(|| UnknownName {
            what: "policy",
            found: sanitize(name),
            valid: "`allow`, `acknowledge_required`, `block`",
        })
    }
}

impl fmt::Display for RiskPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is not in a fixed list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {what} `{found}`; valid are {valid}")]
pub struct UnknownName {
    what: &'static str,
    found: String,
    valid: &'static str,
}
