//! `config/agent/approval.yaml`: the calls that wait for a decision (SPEC 10.11).

use rye_caps::Grant;
use rye_resolve::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::patterns::{bad_patterns, parse_grant};
use super::read::{ConfigError, ConfigFile, ConfigProblem, read};

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

impl ConfigFile for Approval {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "approval";

    fn problems_of_patterns(value: &Value) -> Vec<ConfigProblem> {
        bad_patterns(value, "ask")
    }
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
        let file: Approval = read(layer)?;
        asked = asked.union(&parse_grant(&file.ask, Approval::SCHEMA, layer)?);
    }
    Ok(asked)
}
