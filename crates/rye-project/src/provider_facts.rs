//! Facts about the providers that could answer here, without a request to one.

use rye_resolve::ResolveError;
use rye_types::ItemKind;

use crate::config::DefaultProvider;
use crate::config::{PROVIDERS, is_provider};
use crate::plan::{PrepareError, chosen_default, provider_config};
use crate::project::Project;

/// A provider's configuration, as far as it can be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderFacts {
    /// Its name for `--provider`.
    pub name: String,
    /// The address for requests, without the protocol's own path.
    pub base_url: String,
    /// The environment variable that holds the key; none for a server that wants no key.
    pub key_variable: Option<String>,
    /// The number of models that it knows.
    pub models: usize,
}

/// The name of a configuration for `--provider`, with its facts, or the reason why it cannot be used.
pub type NamedProvider = (String, Result<ProviderFacts, PrepareError>);

impl Project {
    /// Every provider's configuration of the spaces, verified and read, by name; or why it cannot be used.
    ///
    /// # Errors
    ///
    /// When a space cannot be read.
    pub fn providers(&self) -> Result<Vec<NamedProvider>, ResolveError> {
        let listed = self.library().list(ItemKind::Tool)?.into_iter();
        let names = listed.filter(|listed| is_provider(&listed.id));
        Ok(names
            .map(|listed| {
                let name = listed.id.as_str().trim_start_matches(PROVIDERS).to_owned();
                (name.clone(), self.provider(name))
            })
            .collect())
    }

    /// The provider that the configuration makes the default of runs that name none; `None` if no file does, which means
    /// [`DEFAULT_PROVIDER`](crate::DEFAULT_PROVIDER).
    ///
    /// # Errors
    ///
    /// When a file cannot be verified or read, or when a project's file names a provider that is the project's own.
    pub fn default_provider(&self) -> Result<Option<DefaultProvider>, PrepareError> {
        chosen_default(self.library())
    }

    fn provider(&self, name: String) -> Result<ProviderFacts, PrepareError> {
        let (_, config) = provider_config(self.library(), &name)?;
        let key_variable = config.auth().map(|auth| auth.env.clone());
        let base_url = config.base_url().to_owned();
        let models = config.models().len();
        Ok(ProviderFacts { name, base_url, key_variable, models })
    }
}
