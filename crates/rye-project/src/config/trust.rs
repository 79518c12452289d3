//! `config/trust.yaml`: which weaker signatures the operator accepts, and the most that a thread may do (SPEC 2.3, 2.4, 9.4).

use rye_caps::{Grant, Layer, LayerName};
use rye_resolve::{Config, Space};
use rye_sign::Policy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::patterns::{bad_patterns, parse_grant};
use super::read::{ConfigError, ConfigFile, ConfigProblem, read};

/// Rules for weaker signatures, and the most that a thread may do. A missing rule keeps its default.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "trust", inline)]
pub(crate) struct Trust {
    /// Directives of which only the metadata is signed; default: `refuse`. A project may not allow them.
    #[serde(default)]
    #[schemars(with = "MetadataOnly")]
    metadata_only: Option<MetadataOnly>,
    /// Signatures that bind neither kind nor id; default: `allow`, with a note.
    #[serde(default)]
    #[schemars(with = "ContentOnly")]
    content_only: Option<ContentOnly>,
    /// The most that any thread may be granted, as capability patterns; default: everything. A project only takes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    grants: Option<Vec<String>>,
    /// `true` if a directive may grant no more than the nearest one with permissions that it extends;
    /// default: `false`. A project may only switch it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    strict_extends: Option<bool>,
    /// `true` if this machine alone uses the projects on its network file systems, so that file locks keep
    /// every other process away; default: `false`, which drives no thread there. A project may not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    single_host: Option<bool>,
    /// `true` if no thread begins whose directive is not as `.ai/rye.lock` has it; default: `false`. A project may only switch
    /// it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    require_lock: Option<bool>,
}

impl ConfigFile for Trust {
    const FILE: &'static str = "trust";
    const SCHEMA: &'static str = "trust";

    fn problems_of_patterns(value: &Value) -> Vec<ConfigProblem> {
        bad_patterns(value, "grants")
    }

    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        let Ok(file) = serde_json::from_value::<Self>(value.clone()) else { return Vec::new() };
        let metadata = file.metadata_only == Some(MetadataOnly::Allow);
        let rows = [
            (metadata, "/metadata_only", "metadata_only: allow"),
            (file.single_host == Some(true), "/single_host", "single_host: true"),
        ];
        let loosened = rows.into_iter().filter(|(is_loosened, ..)| *is_loosened);
        let problem = |place, setting| ConfigProblem::new(place, not_for_projects(setting));
        loosened.map(|(_, place, setting)| problem(place, setting).told_by_message()).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum MetadataOnly {
    Allow,
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ContentOnly {
    Allow,
    Deny,
}

/// Returns `policy` with the rules of the layers of `trust`. A project's layer can only make it stricter
/// (SPEC 4.3).
///
/// # Errors
///
/// The function fails if a layer breaks the schema, or if a project's layer would allow something.
pub(crate) fn trust_policy(
    policy: &Policy,
    config: Option<&Config>,
) -> Result<Policy, ConfigError> {
    let mut metadata_only = MetadataOnly::Refuse;
    let mut content_only = ContentOnly::Allow;
    let mut strict_extends = false;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: Trust = read(layer)?;
        let problems = if layer.location.space == Space::Project {
            looser_settings(&file, content_only, strict_extends)
        } else {
            Vec::new()
        };
        if !problems.is_empty() {
            return Err(ConfigError {
                location: layer.location.to_string(),
                schema: Trust::SCHEMA,
                problems,
            });
        }
        metadata_only = file.metadata_only.unwrap_or(metadata_only);
        content_only = file.content_only.unwrap_or(content_only);
        strict_extends = file.strict_extends.unwrap_or(strict_extends);
    }
    let policy = if content_only == ContentOnly::Deny {
        policy.clone().deny_content_only()
    } else {
        policy.clone()
    };
    Ok(if metadata_only == MetadataOnly::Allow { policy.allow_metadata_only() } else { policy })
}

/// Returns the layers of authority that the layers of `trust` make. The operator's nearest grant is one. A
/// project's grant is a layer of its own, so that it can widen nothing (SPEC 9.4).
///
/// # Errors
///
/// The function fails if a layer breaks the schema, or holds a text that is no capability pattern.
pub(crate) fn policy_layers(config: Option<&Config>) -> Result<Vec<Layer>, ConfigError> {
    let mut operators = Grant::everything();
    let mut projects = None;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: Trust = read(layer)?;
        let Some(patterns) = file.grants else { continue };
        let grant = parse_grant(&patterns, Trust::SCHEMA, layer)?;
        match layer.location.space {
            Space::Project => projects = Some(grant),
            _ => operators = grant,
        }
    }
    let project = projects.map(|grant| Layer::new(LayerName::Project, grant));
    Ok([Layer::new(LayerName::Operator, operators)].into_iter().chain(project).collect())
}

/// Returns `true` if a directive may grant no more than what it extends, by the nearest word of `trust`.
///
/// # Errors
///
/// When a layer breaks the schema.
pub(crate) fn strict_extends(config: Option<&Config>) -> Result<bool, ConfigError> {
    let mut is_strict = false;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        is_strict = read::<Trust>(layer)?.strict_extends.unwrap_or(is_strict);
    }
    Ok(is_strict)
}

/// Returns `true` if threads begin only as the lock has their directives. A layer that says so counts, whatever a nearer one of
/// a project says.
///
/// # Errors
///
/// When a layer breaks the schema.
pub(crate) fn requires_lock(config: Option<&Config>) -> Result<bool, ConfigError> {
    let mut is_required = false;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let stated = read::<Trust>(layer)?.require_lock.unwrap_or(is_required);
        let is_project = layer.location.space == Space::Project;
        is_required = stated || (is_project && is_required);
    }
    Ok(is_required)
}

/// Returns `true` if the operator declares that this machine alone uses its network file systems.
///
/// # Errors
///
/// When a layer breaks the schema.
pub(crate) fn single_host(config: Option<&Config>) -> Result<bool, ConfigError> {
    let mut is_single = false;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        is_single = read::<Trust>(layer)?.single_host.unwrap_or(is_single);
    }
    Ok(is_single)
}

/// Returns the settings of a project's file that would allow more than the operator does.
fn looser_settings(file: &Trust, content_only: ContentOnly, strict_extends: bool) -> Vec<String> {
    let content =
        file.content_only == Some(ContentOnly::Allow) && content_only == ContentOnly::Deny;
    let extends = file.strict_extends == Some(false) && strict_extends;
    [(content, "content_only: allow"), (extends, "strict_extends: false")]
        .into_iter()
        .filter(|(is_loosened, _)| *is_loosened)
        .map(|(_, setting)| not_for_projects(setting))
        .collect()
}

fn not_for_projects(setting: &str) -> String {
    format!("a project may not set `{setting}`; the user space may")
}
