//! `config/spaces.yaml`: the system roots of the operator, which `--system` names for one command.

use std::path::{Path, PathBuf};

use rye_resolve::{Config, Library, ResolveError, Spaces};
use rye_sign::Policy;
use rye_types::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, forbidden, read};

/// The configuration that says it.
pub(crate) const FILE: &str = "spaces";

/// The further read-only system roots. Not for projects.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "spaces")]
pub(crate) struct SpacesFile {
    /// The folders that hold the `.ai` of a system root, nearest first; a relative one is below the user space. `--system` and
    /// `RYE_SYSTEM` take the place of the list.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(length(min = 1)))]
    system: Option<Vec<String>>,
}

impl ConfigFile for SpacesFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "spaces";

    /// A system root's trust documents count as the operator's.
    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        const MESSAGE: &str = "a project may not add system roots; `system` is for the user space";
        forbidden(value, &[("system", MESSAGE)])
    }
}

/// The reason why the system roots of a user space are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemRootsError {
    /// The file breaks its schema.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be verified or read.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

/// Returns the system roots that `config/spaces.yaml` of the user space lists. The file is verified with the keys that the user
/// space itself trusts.
///
/// # Errors
///
/// The function fails if the file is unsigned or changed, or if it breaks the schema.
pub fn system_roots(user: &Path, now: Timestamp) -> Result<Vec<PathBuf>, SystemRootsError> {
    let spaces = Spaces::new().with_user(user);
    let (trust, _) = rye_resolve::trust_store(&spaces, &[], now)?;
    let library = Library::new(spaces, trust, Policy::default(), now);
    let config = library.config(FILE)?;
    let mut roots = Vec::new();
    for layer in config.as_ref().map_or(&[][..], Config::layers) {
        let file: SpacesFile = read(layer)?;
        roots.extend(file.system.unwrap_or_default().iter().map(|root| user.join(root)));
    }
    Ok(roots)
}
