//! The four risks and the policies for them.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};
use thiserror::Error;

use crate::word::sanitize;

/// The harm that a grant can do, from the least to the most.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[strum(serialize_all = "snake_case", parse_err_fn = UnknownName::risk, parse_err_ty = UnknownName)]
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
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in tables and in `<acknowledge risk="…">`, in lower case.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The policy for this risk if the table has none.
    #[must_use]
    pub const fn default_policy(self) -> RiskPolicy {
        match self {
            Self::Safe | Self::Write => RiskPolicy::Allow,
            Self::Elevated => RiskPolicy::AcknowledgeRequired,
            Self::Unrestricted => RiskPolicy::Block,
        }
    }
}

/// The policy for grants of one risk.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_fn = UnknownName::policy, parse_err_ty = UnknownName)]
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
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in tables, in snake case.
    pub fn as_str(self) -> &'static str {
        self.into()
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

impl UnknownName {
    fn risk(name: &str) -> Self {
        let valid = "`safe`, `write`, `elevated`, `unrestricted`";
        Self { what: "risk", found: sanitize(name), valid }
    }

    fn policy(name: &str) -> Self {
        let valid = "`allow`, `acknowledge_required`, `block`";
        Self { what: "policy", found: sanitize(name), valid }
    }
}
