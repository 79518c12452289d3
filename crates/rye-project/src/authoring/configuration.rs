//! New configuration from templates: providers, hooks and the other files of `config`.

use rye_resolve::ItemId;

use super::Draft;
use crate::config::schema;

/// The configurations that a project may have and that [`draft_config`] drafts, by the names of their schemas; hooks have a
/// template of their own.
pub const DRAFTED_CONFIGS: [&str; 8] = [
    "approval",
    "capability_risk",
    "default_provider",
    "mcp_servers",
    "processes",
    "resilience",
    "trust",
    "web",
];

/// Drafts the configuration of a provider: a server on this machine that needs no key.
#[must_use]
pub fn draft_provider(name: &ItemId) -> Draft {
    let path = format!("tools/rye/agent/providers/{name}.yaml");
    Draft { path, text: include_str!("../templates/provider.yaml").to_owned() }
}

/// Drafts a hooks file with one hook, whose id is `name`.
#[must_use]
pub fn draft_hook(name: &ItemId) -> Draft {
    let text = include_str!("../templates/hooks.yaml").replace("{{name}}", name.as_str());
    Draft { path: path_of("hooks"), text }
}

/// Drafts the configuration whose schema is called `name`; `None` for one that is not among [`DRAFTED_CONFIGS`].
#[must_use]
pub fn draft_config(name: &str) -> Option<Draft> {
    let text = match name {
        "approval" => include_str!("../templates/config/approval.yaml"),
        "capability_risk" => include_str!("../templates/config/capability_risk.yaml"),
        "default_provider" => include_str!("../templates/config/default_provider.yaml"),
        "mcp_servers" => include_str!("../templates/config/mcp_servers.yaml"),
        "processes" => include_str!("../templates/config/processes.yaml"),
        "resilience" => include_str!("../templates/config/resilience.yaml"),
        "trust" => include_str!("../templates/config/trust.yaml"),
        "web" => include_str!("../templates/config/web.yaml"),
        _ => return None,
    };
    Some(Draft { path: path_of(name), text: text.to_owned() })
}

/// The file that a schema describes.
fn path_of(name: &str) -> String {
    schema(name).expect("because the schema comes with the program").describes.to_owned()
}
