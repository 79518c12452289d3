//! `config/agent/approval.yaml`: the calls that wait for a decision (SPEC 10.11).

use rye_caps::Grant;
use rye_resolve::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::patterns::parse_grant;
use super::read::{ConfigError, read};

pub(crate) const APPROVAL: &str = "approval";

/// The configuration that says it.
pub const FILE: &str = "agent/approval";

/// Calls that wait until a person has approved them, whatever the directive may do.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "approval")]
pub(crate) struct Approval {
    /// Capability patterns, such as `rye.execute.tool.rye.file-system.write`; every file adds to those of the others.
    #[serde(default)]
    ask: Vec<String>,
}

impl Approval {
    /// Returns the number of its patterns.
    pub(super) fn patterns(&self) -> usize {
        self.ask.len()
    }
}

/// Returns the union of the patterns in all layers of `agent/approval`. No file removes a pattern of another
/// one.
///
/// # Errors
///
/// The function fails if a layer breaks the schema or lists a text that is no pattern.
pub(crate) fn approval_patterns(config: Option<&Config>) -> Result<Grant, ConfigError> {
    let mut asked = Grant::nothing();
    for layer in config.map_or(&[][..], Config::layers) {
        let file: Approval = read(APPROVAL, layer)?;
        asked = asked.union(&parse_grant(&file.ask, APPROVAL, layer)?);
    }
    Ok(asked)
}
