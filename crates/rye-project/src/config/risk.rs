//! `config/agent/capability_risk.yaml`: how dangerous a capability is (SPEC 9.6).

use std::collections::BTreeMap;

use rye_caps::Pattern;
use rye_caps::risk::{RiskTable, RiskTableError, RiskTableProblem};
use rye_resolve::{Config, Item, Space};
use rye_types::{Risk, RiskPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, read, refuse};
use crate::aliases::canonical;

/// The file of the risks below `config`, without its extension.
pub(crate) const RISK_FILE: &str = "agent/capability_risk";

/// Risks of capabilities, and the policy for granting them.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "capability_risk", inline)]
pub(crate) struct CapabilityRisk {
    /// The policy for granting a capability of each risk.
    #[serde(default)]
    risk_levels: BTreeMap<RiskName, Level>,
    /// The risk of each pattern; the most specific matching pattern decides.
    #[serde(default)]
    classifications: Vec<Classification>,
}

impl ConfigFile for CapabilityRisk {
    const FILE: &'static str = RISK_FILE;
    const SCHEMA: &'static str = "capability_risk";

    fn problems_of_patterns(value: &Value) -> Vec<ConfigProblem> {
        // Read as a file is, which may leave out what a table has.
        match serde_json::from_value(value.clone()) {
            Ok(file) => table(&file).err().map_or_else(Vec::new, |error| with_position(&error)),
            Err(error) => vec![ConfigProblem::new("", error.to_string())],
        }
    }
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Level {
    /// The policy for granting.
    policy: PolicyName,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Classification {
    /// The risk of the patterns.
    risk: RiskName,
    /// Capability patterns, such as `rye.execute.tool.rye.file-system.*`.
    #[schemars(length(min = 1))]
    patterns: Vec<String>,
    /// Why, for people.
    #[serde(default)]
    description: String,
}

/// The names of SPEC 9.6, mildest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum RiskName {
    Safe,
    Write,
    Elevated,
    Unrestricted,
}

/// Policies for granting, mildest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PolicyName {
    Allow,
    AcknowledgeRequired,
    Block,
}

/// Builds the risk table from the layers of `agent/capability_risk`: the operator's nearest file, and the
/// additions of a project.
///
/// # Errors
///
/// The function fails if a layer breaks the schema, or if a project's layer is milder than the operator's
/// (SPEC 4.3).
pub fn risk_table(config: Option<&Config>) -> Result<RiskTable, ConfigError> {
    let mut table = RiskTable::default();
    let mut merged = CapabilityRisk::default();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: CapabilityRisk = read(layer)?;
        if layer.location.space == Space::Project {
            refuse_milder(layer, &file, &table)?;
            merged.classifications.extend(file.classifications);
        } else if !file.classifications.is_empty() {
            merged.classifications = file.classifications;
        }
        merged.risk_levels.extend(file.risk_levels);
        table = build_table(layer, &merged)?;
    }
    Ok(table)
}

/// The problems of a table, of which each knows its place as `classifications[0].patterns[1]`.
fn with_position(error: &RiskTableError) -> Vec<ConfigProblem> {
    let problem = |problem: &RiskTableProblem| {
        let keys = problem.path.replace("].", "/").replace(['.', '[', ']'], "/");
        let pointer = format!("/{}", keys.trim_end_matches('/'));
        ConfigProblem::new(&pointer, problem.to_string()).told_by_message()
    };
    error.problems().iter().map(problem).collect()
}

fn build_table(layer: &Item<Value>, merged: &CapabilityRisk) -> Result<RiskTable, ConfigError> {
    table(merged).map_err(|error| ConfigError {
        location: layer.location.to_string(),
        schema: CapabilityRisk::SCHEMA,
        problems: error.problems().iter().map(ToString::to_string).collect(),
    })
}

fn table(file: &CapabilityRisk) -> Result<RiskTable, RiskTableError> {
    let mut value = serde_json::to_value(file).expect("because names and texts are JSON");
    let rows = value["classifications"].as_array_mut().into_iter().flatten();
    rows.filter_map(|row| row["patterns"].as_array_mut()).for_each(name_tools);
    RiskTable::from_value(&value)
}

/// Makes rules about aliases rules about their tools. Each pattern keeps its place, by which its problems
/// are reported. Its further meanings follow after all of them.
fn name_tools(patterns: &mut Vec<Value>) {
    let mut more = Vec::new();
    for pattern in patterns.iter_mut() {
        let read = pattern.as_str().and_then(|text| text.parse::<Pattern>().ok());
        let mut meant = read.into_iter().flat_map(canonical);
        if let Some(first) = meant.next() {
            *pattern = first.as_str().into();
        }
        more.extend(meant.map(|pattern| Value::from(pattern.as_str())));
    }
    patterns.append(&mut more);
}

/// Refuses a project's file that would make anything easier than the operator's `table` says.
fn refuse_milder(
    layer: &Item<Value>,
    file: &CapabilityRisk,
    table: &RiskTable,
) -> Result<(), ConfigError> {
    let policies = file
        .risk_levels
        .iter()
        .filter_map(|(risk, level)| milder_policy(*risk, level.policy, table));
    let patterns = file.classifications.iter().flat_map(|row| {
        row.patterns.iter().flat_map(|pattern| milder_patterns(row.risk, pattern, table))
    });
    refuse::<CapabilityRisk>(layer, policies.chain(patterns).collect())
}

fn milder_policy(risk: RiskName, policy: PolicyName, table: &RiskTable) -> Option<String> {
    let risk = Risk::from(risk);
    let given = RiskPolicy::from(policy);
    let operators = table.policy(risk);
    (given < operators).then(|| {
        format!(
            "a project may not lower the policy of `{risk}` from `{}` to `{}`",
            operators.as_str(),
            given.as_str()
        )
    })
}

/// A text that is no pattern is left to the table's own reader, which says what is wrong with it.
fn milder_patterns(risk: RiskName, text: &str, table: &RiskTable) -> Vec<String> {
    let given = Risk::from(risk);
    let milder = |pattern: Pattern| {
        let operators = table.classify(&pattern).risk;
        (given < operators).then(|| {
            format!(
                "a project may not lower the risk of `{pattern}` from `{operators}` to `{given}`"
            )
        })
    };
    text.parse::<Pattern>().into_iter().flat_map(canonical).filter_map(milder).collect()
}

impl From<RiskName> for Risk {
    fn from(name: RiskName) -> Self {
        match name {
            RiskName::Safe => Self::Safe,
            RiskName::Write => Self::Write,
            RiskName::Elevated => Self::Elevated,
            RiskName::Unrestricted => Self::Unrestricted,
        }
    }
}

impl From<PolicyName> for RiskPolicy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Allow => Self::Allow,
            PolicyName::AcknowledgeRequired => Self::AcknowledgeRequired,
            PolicyName::Block => Self::Block,
        }
    }
}
