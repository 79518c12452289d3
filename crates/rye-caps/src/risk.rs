//! The risk of a grant, and its acknowledgement by the author of a directive (`SPEC 9.6`).
//!
//! A [`RiskTable`] classifies patterns into four [`Risk`](rye_types::Risk)s and has a policy for each. [`assess`] compares a grant with
//! the table and returns one [`Finding`] for each granted pattern, so that the author sees all of them at once.
//!
//! [`assess`]: RiskTable::assess
//!
//! ```
//! use rye_caps::{Grant, risk::{Acknowledgement, RiskTable, Verdict}};
//! use rye_types::Risk;
//!
//! let table = RiskTable::from_value(&serde_json::json!({
//!     "classifications": [
//!         { "risk": "write", "patterns": ["rye.execute.*"] },
//!         { "risk": "elevated", "patterns": ["rye.execute.tool.rye.bash.*"], "description": "runs any command" },
//!     ],
//! }))?;
//!
//! // A wildcard is at least as risky as everything that it covers.
//! let findings = table.assess(&Grant::of_primary("execute")?, &[], &[]);
//! assert_eq!((findings[0].risk, findings[0].verdict), (Risk::Elevated, Verdict::Warn));
//!
//! let known = Acknowledgement::new("elevated", "builds need a shell")?;
//! let findings = table.assess(&Grant::of_primary("execute")?, &[], &[known]);
//! assert_eq!(findings[0].verdict, Verdict::Allow);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Classification of a pattern
//!
//! A *capability* has the risk of the most specific pattern of the table that covers it: the one with the most dots
//! outside classes, then the longest, then the riskiest. A capability that no pattern covers is
//! [`Unrestricted`](rye_types::Risk::Unrestricted), because an unknown risk is not safe.
//!
//! A granted *pattern* has the risk of the most specific pattern of the table that covers all of it. If it meets a more
//! specific pattern that is riskier, it has that risk. It is therefore at least as risky as every capability that it
//! covers, and a wider grant is never less risky than a narrower one.
//!
//! # The table
//!
//! [`RiskTable::from_value`] reads the value of `config/agent/capability_risk.yaml`:
//!
//! ```yaml
//! risk_levels:                        # optional, as is each level; these are the defaults
//!   safe:         { policy: allow }
//!   write:        { policy: allow }
//!   elevated:     { policy: acknowledge_required }   # runs, with a warning unless it is acknowledged
//!   unrestricted: { policy: block }                  # is refused unless it is acknowledged
//! classifications:
//!   - risk: elevated
//!     patterns: ["rye.execute.tool.rye.bash.*", "rye.execute.tool.rye.web.*"]
//!     description: runs any command   # optional, shown in findings
//! ```

mod assess;
mod table;

pub use self::{
    assess::{Acknowledgement, AcknowledgementError, Finding, Verdict},
    table::{Classification, RiskTable, RiskTableError, RiskTableProblem, RiskTableProblemKind},
};

#[cfg(test)]
mod tests;
