//! `config/agent/providers.yaml`: the provider that answers where neither the operator nor a directive names one.

use rye_resolve::{Config, Location, Space};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, read, refuse};

/// The configuration that says it.
pub(crate) const FILE: &str = "agent/providers";

/// The provider of runs that name none.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "default_provider")]
pub(crate) struct DefaultProviderFile {
    /// The name of a provider's configuration, as `--provider` takes it; default: `anthropic_messages`. The nearest file counts.
    /// A project may only name a provider of the user space or one that comes with the program.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"))]
    default: Option<String>,
}

impl ConfigFile for DefaultProviderFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "default_provider";

    fn problems_of_meaning(value: &Value) -> Vec<ConfigProblem> {
        let names_steps = value.get("default").is_some_and(|name| name == "steps");
        let message = "`steps` is no provider: a directive chooses it by `<model provider=\"steps\"/>`, and you by `--provider steps`";
        let problem = || ConfigProblem::new("/default", message.to_owned());
        names_steps.then(problem).into_iter().collect()
    }
}

/// The provider that a configuration file makes the default, and the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefaultProvider {
    /// The name, as `--provider` takes it.
    pub name: String,
    /// The file that says so.
    pub location: Location,
}

impl DefaultProvider {
    /// Returns `true` if a project's file says so.
    pub(crate) fn is_of_project(&self) -> bool {
        self.location.space == Space::Project
    }
}

/// The default of the nearest layer of `agent/providers` that has one.
///
/// # Errors
///
/// When a layer breaks the schema or names the steps.
pub(crate) fn default_provider(
    config: Option<&Config>,
) -> Result<Option<DefaultProvider>, ConfigError> {
    let mut chosen = None;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: DefaultProviderFile = read(layer)?;
        let problems = DefaultProviderFile::problems_of_meaning(layer.content.value());
        refuse::<DefaultProviderFile>(layer, problems.iter().map(ToString::to_string).collect())?;
        let location = layer.location.clone();
        chosen = file.default.map(|name| DefaultProvider { name, location }).or(chosen);
    }
    Ok(chosen)
}
