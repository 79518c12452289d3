//! The JSON schemas that come with the program (SPEC 4.4).

use std::sync::LazyLock;

use serde_json::Value;

use super::{
    approval, engines, hooks, processes, provider, providers, resilience, risk, servers, trust, web,
};
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
        row(
            approval::APPROVAL,
            "config/agent/approval.yaml",
            schemars::schema_for!(approval::Approval),
        ),
        row(
            risk::CAPABILITY_RISK,
            "config/agent/capability_risk.yaml",
            schemars::schema_for!(risk::CapabilityRisk),
        ),
        row(
            engines::ENGINES,
            "config/agent/engines.yaml",
            schemars::schema_for!(engines::EnginesFile),
        ),
        row(hooks::HOOKS, "config/agent/hooks.yaml", hooks::hooks_schema()),
        row(
            servers::SERVERS,
            "config/mcp/servers.yaml",
            schemars::schema_for!(servers::ServersFile),
        ),
        row(
            processes::PROCESSES,
            "config/agent/processes.yaml",
            schemars::schema_for!(processes::ProcessesFile),
        ),
        row(
            provider::PROVIDER,
            "tools/rye/agent/providers/*.yaml",
            schemars::schema_for!(provider::Provider),
        ),
        row(
            providers::PROVIDERS_POLICY,
            "config/providers.yaml",
            schemars::schema_for!(providers::ProvidersFile),
        ),
        row(
            resilience::RESILIENCE,
            "config/agent/resilience.yaml",
            schemars::schema_for!(resilience::Resilience),
        ),
        row(
            run_stream::RUN_STREAM,
            "each line of `rye run --json`",
            run_stream::run_stream_schema(),
        ),
        row(trust::TRUST, "config/trust.yaml", schemars::schema_for!(trust::Trust)),
        row(web::WEB, "config/agent/web.yaml", schemars::schema_for!(web::WebFile)),
    ]
});

/// The schema called `name`, or `None` when there is none.
#[must_use]
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.name == name)
}

/// The configuration files that are read, as ids below `config`.
pub(crate) const FILES: [&str; 10] = [
    approval::FILE,
    "agent/capability_risk",
    engines::FILE,
    hooks::FILE,
    processes::FILE,
    "agent/resilience",
    web::FILE,
    servers::FILE,
    providers::FILE,
    "trust",
];

/// The schema of the configuration file `name`, such as `agent/resilience`; other files are free in form.
pub(crate) fn of_file(name: &str) -> Option<&'static str> {
    match name {
        approval::FILE => Some(approval::APPROVAL),
        "agent/capability_risk" => Some(risk::CAPABILITY_RISK),
        engines::FILE => Some(engines::ENGINES),
        processes::FILE => Some(processes::PROCESSES),
        providers::FILE => Some(providers::PROVIDERS_POLICY),
        servers::FILE => Some(servers::SERVERS),
        "agent/resilience" => Some(resilience::RESILIENCE),
        "trust" => Some(trust::TRUST),
        web::FILE => Some(web::WEB),
        _ => None,
    }
}
