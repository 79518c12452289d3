//! The JSON schemas that come with the program (SPEC 4.4).

use std::sync::LazyLock;

use serde_json::Value;

use super::approval::Approval;
use super::default_provider::DefaultProviderFile;
use super::engines::EnginesFile;
use super::processes::ProcessesFile;
use super::providers::ProvidersFile;
use super::read::ConfigFile;
use super::resilience::Resilience;
use super::risk::CapabilityRisk;
use super::servers::ServersFile;
use super::system_roots::SpacesFile;
use super::trust::Trust;
use super::web::WebFile;
use super::{hooks, provider};
use crate::run_stream;

/// The schema of one sort of file, or of what the program prints.
#[derive(Debug)]
#[non_exhaustive]
pub struct Schema {
    /// The name that `rye schema NAME` takes.
    pub name: &'static str,
    /// The files or lines that it describes.
    pub describes: &'static str,
    /// The JSON schema, of the 2020-12 dialect.
    pub value: Value,
}

/// Every schema, sorted by name.
pub static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let row = |name, describes, schema: schemars::Schema| Schema {
        name,
        describes,
        value: schema.to_value(),
    };
    vec![
        of_file::<Approval>("config/agent/approval.yaml"),
        of_file::<CapabilityRisk>("config/agent/capability_risk.yaml"),
        of_file::<DefaultProviderFile>("config/agent/providers.yaml"),
        of_file::<EnginesFile>("config/agent/engines.yaml"),
        row(hooks::HOOKS, "config/agent/hooks.yaml", hooks::hooks_schema()),
        of_file::<ServersFile>("config/mcp/servers.yaml"),
        of_file::<ProcessesFile>("config/agent/processes.yaml"),
        row(
            provider::PROVIDER,
            "tools/rye/agent/providers/*.yaml",
            schemars::schema_for!(provider::Provider),
        ),
        of_file::<ProvidersFile>("config/providers.yaml"),
        of_file::<Resilience>("config/agent/resilience.yaml"),
        row(
            run_stream::RUN_STREAM,
            "each line of `rye run --json`",
            run_stream::run_stream_schema(),
        ),
        of_file::<SpacesFile>("config/spaces.yaml"),
        of_file::<Trust>("config/trust.yaml"),
        of_file::<WebFile>("config/agent/web.yaml"),
    ]
});

/// Returns the schema of a configuration file, which `describes` names with its folder.
fn of_file<T: ConfigFile>(describes: &'static str) -> Schema {
    Schema { name: T::SCHEMA, describes, value: schemars::schema_for!(T).to_value() }
}

/// The schema called `name`, or `None` when there is none.
#[must_use]
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.name == name)
}
