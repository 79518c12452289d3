//! The configuration files by their ids, for callers that do not know the types of the files.

use rye_resolve::ItemId;
use serde_json::Value;

use super::approval::Approval;
use super::default_provider::DefaultProviderFile;
use super::engines::EnginesFile;
use super::hooks;
use super::processes::ProcessesFile;
use super::providers::ProvidersFile;
use super::read::{ConfigFile, ConfigProblem, problems};
use super::resilience::Resilience;
use super::risk::CapabilityRisk;
use super::servers::ServersFile;
use super::system_roots::SpacesFile;
use super::trust::Trust;
use super::web::WebFile;

/// The configuration files that are read, as ids below `config`.
pub(crate) const FILES: [&str; 12] = [
    Approval::FILE,
    CapabilityRisk::FILE,
    DefaultProviderFile::FILE,
    EnginesFile::FILE,
    hooks::FILE,
    ProcessesFile::FILE,
    Resilience::FILE,
    WebFile::FILE,
    ServersFile::FILE,
    ProvidersFile::FILE,
    SpacesFile::FILE,
    Trust::FILE,
];

/// Returns the configuration file that an id means which differs from it only in case; nothing reads a file of that id.
pub(crate) fn meant_in_other_case(id: &ItemId) -> Option<&'static str> {
    let is_meant = |file: &&str| file.eq_ignore_ascii_case(id.as_str()) && *file != id.as_str();
    FILES.into_iter().find(is_meant)
}

/// The rules for one configuration file. Hooks files have none, because their parser checks them.
pub(crate) struct FileRules {
    /// The file as an id below `config`.
    file: &'static str,
    /// The name of its schema.
    pub(crate) schema: &'static str,
    /// `true` if no message repeats the text of the file, because it may hold a secret.
    pub(crate) is_secretive: bool,
    /// Finds all problems of a value, whichever space the file belongs to.
    pub(crate) problems: Check,
    /// Finds the keys that a project may not set, in a value without other problems.
    pub(crate) problems_of_project: Check,
    /// Finds values that mean nothing, in a value without other problems.
    pub(crate) problems_of_meaning: Check,
}

type Check = fn(&Value) -> Vec<ConfigProblem>;

impl FileRules {
    const fn of<T: ConfigFile>() -> Self {
        Self {
            file: T::FILE,
            schema: T::SCHEMA,
            is_secretive: T::IS_SECRETIVE,
            problems: problems::<T>,
            problems_of_project: T::problems_of_project,
            problems_of_meaning: T::problems_of_meaning,
        }
    }
}

static RULES: [FileRules; 11] = [
    FileRules::of::<Approval>(),
    FileRules::of::<CapabilityRisk>(),
    FileRules::of::<DefaultProviderFile>(),
    FileRules::of::<EnginesFile>(),
    FileRules::of::<ProcessesFile>(),
    FileRules::of::<ProvidersFile>(),
    FileRules::of::<Resilience>(),
    FileRules::of::<ServersFile>(),
    FileRules::of::<SpacesFile>(),
    FileRules::of::<Trust>(),
    FileRules::of::<WebFile>(),
];

/// Returns the rules for the configuration file `name`, such as `agent/resilience`. Other files are free in form.
pub(crate) fn rules_of_file(name: &str) -> Option<&'static FileRules> {
    RULES.iter().find(|rules| rules.file == name)
}
