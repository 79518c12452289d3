//! `config/agent/engines.yaml`: the durable engines that `--engine` calls by name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigFile, ConfigProblem, forbidden};

/// The configuration that says it.
pub(crate) const FILE: &str = "agent/engines";

/// Durable engines that drive threads in place of this machine. Not for projects.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "engines")]
pub(crate) struct EnginesFile {
    /// Each engine by the name that `--engine` calls.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": NAME }))]
    pub(super) engines: BTreeMap<String, EngineAddress>,
}

impl ConfigFile for EnginesFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "engines";

    /// The file says where signed requests and tokens are sent.
    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        const MESSAGE: &str =
            "a project may not say where threads run; `engines` is for the user space";
        forbidden(value, &[("engines", MESSAGE)])
    }
}

/// The form of an engine's name, which no address has.
const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// The address of a durable engine, and where its token is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
#[non_exhaustive]
pub struct EngineAddress {
    /// The address of its ingress: `https://engine.example.org`, or `http://` on this machine alone.
    #[schemars(regex(pattern = "^https?://"))]
    pub url: String,
    /// The variable with the bearer token for it; default `RYE_ENGINE_TOKEN`.
    #[serde(default = "token_variable")]
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub token_variable: String,
    /// The name by which its workers know the engine (`rye-worker --audience`), where that is not this address.
    #[serde(default)]
    pub audience: Option<String>,
    /// The label of the workers that run threads there; without it, workers without a label do.
    #[serde(default)]
    #[schemars(regex(pattern = "^[a-z0-9-]{1,32}$"))]
    pub label: Option<String>,
}

/// Returns the name of an engine for which requests are signed.
///
/// An address ends with a slash, and this machine has one name in it. A name that is no address stays as it is.
#[must_use]
pub fn engine_audience(name: &str) -> String {
    if !name.contains("://") {
        return name.to_owned();
    }
    let address = name.replacen("//localhost", "//127.0.0.1", 1);
    if address.ends_with('/') { address } else { address + "/" }
}

fn token_variable() -> String {
    "RYE_ENGINE_TOKEN".to_owned()
}
