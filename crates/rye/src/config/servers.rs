//! `config/mcp/servers.yaml`: the MCP servers whose tools may be wrapped (SPEC 5.1).

use std::collections::BTreeMap;

use rye_resolve::{Config, Item, Space};
use rye_tools::mcp::{Server, ServerProgram};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, read};

pub(crate) const SERVERS: &str = "mcp_servers";

/// The configuration that says it.
pub(crate) const FILE: &str = "mcp/servers";

/// The MCP servers whose tools may be wrapped.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "mcp_servers")]
pub(crate) struct ServersFile {
    /// Each server by the name that wrappers call it. A project can add servers, and not change those of the user space.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": NAME }))]
    servers: BTreeMap<String, ServerFile>,
}

/// What a server may be called, so that it is a segment of the ids of its wrappers.
const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// One server: a program that serves over its standard input and output, in the sandbox of all programs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct ServerFile {
    /// The program, by its path or by its name in `PATH`.
    #[schemars(length(min = 1))]
    command: String,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// The folder that it starts in, relative to the project; default: the project itself.
    #[serde(default)]
    #[schemars(with = "String")]
    cwd: Option<String>,
    /// Variables of its environment beside those of every program; not for secrets, because everybody who has the file reads
    /// them.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Names of variables that are handed on from the environment that Rye runs in. Not for projects.
    #[serde(default)]
    #[schemars(inner(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$")))]
    variables: Vec<String>,
    /// Whether it may use the network; default `false`.
    #[serde(default)]
    network: bool,
    /// Seconds until it has to have said what it offers; default 30.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    startup_seconds: Option<u64>,
    /// Seconds that a call may take, unless its wrapper says otherwise; default 120.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    timeout_seconds: Option<u64>,
}

/// The servers of all layers, each with the file that says what it is.
///
/// A server is what one file says of it: merged, it would be something that nobody signed.
///
/// # Errors
///
/// When a layer breaks the schema, and when a project's names variables or a server of the operator's.
pub(crate) fn servers(
    config: Option<&Config>,
) -> Result<BTreeMap<String, (Server, &Item<Value>)>, ConfigError> {
    let mut servers = BTreeMap::new();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: ServersFile = read(SERVERS, layer)?;
        if layer.location.space == Space::Project {
            refuse_more(layer, &file, &servers)?;
        }
        for (name, server) in file.servers {
            let server = server.named(&name);
            servers.insert(name, (server, layer));
        }
    }
    Ok(servers)
}

/// Whoever wrote a wrapper for the operator's server meant that one; and what is in the operator's environment is for nobody
/// to take who only brings a project.
fn refuse_more(
    layer: &Item<Value>,
    file: &ServersFile,
    servers: &BTreeMap<String, (Server, &Item<Value>)>,
) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for (name, server) in &file.servers {
        if servers.contains_key(name) {
            problems.push(format!(
                "a project may not change server `{name}` of the user space or the system; call it something else"
            ));
        }
        if !server.variables.is_empty() {
            problems.push(format!(
                "at `/servers/{name}`: a project may not say which variables a server is handed; `variables` is for the user \
                 space"
            ));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(ConfigError { location: layer.location.to_string(), schema: SERVERS, problems })
}

impl ServerFile {
    fn named(self, name: &str) -> Server {
        let mut program = ServerProgram::new(&self.command);
        program.arguments = self.args;
        program.folder = self.cwd.unwrap_or_default();
        program.environment = self.env;
        program.variables = self.variables;
        program.network = self.network;
        let mut server = Server::new(name, program);
        server.startup_seconds = self.startup_seconds;
        server.timeout_seconds = self.timeout_seconds;
        server
    }
}
