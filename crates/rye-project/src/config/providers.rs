//! `config/providers.yaml`: which variables of the environment a project's provider configurations may name (SPEC 11.1).

use std::collections::BTreeSet;

use rye_resolve::Config;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, forbidden, read};

/// The configuration that says it.
pub(crate) const FILE: &str = "providers";

/// Environment variables that Rye may send to the providers of projects.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "providers")]
pub(crate) struct ProvidersFile {
    /// The names of the variables that a project's provider configuration may name under `auth`. The nearest list of the user
    /// space and the system counts; shipped are the vendors' own. Not for projects.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$")))]
    variables: Option<Vec<String>>,
}

impl ConfigFile for ProvidersFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "providers";

    /// A project does not choose what is sent to the providers that it brings along.
    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        const MESSAGE: &str = "a project may not say which variables its providers are sent; `variables` is for the user space";
        forbidden(value, &[("variables", MESSAGE)])
    }
}

/// The variables that the layers of `providers` allow: what the operator's nearest list says.
///
/// # Errors
///
/// When a layer breaks the schema, or a project's allows any.
pub(crate) fn provider_variables(config: Option<&Config>) -> Result<BTreeSet<String>, ConfigError> {
    let mut allowed = Vec::new();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: ProvidersFile = read(layer)?;
        allowed = file.variables.unwrap_or(allowed);
    }
    Ok(allowed.into_iter().collect())
}
