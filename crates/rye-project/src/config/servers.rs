//! `config/mcp/servers.yaml`: the MCP servers whose tools may be wrapped (SPEC 5.1).

use std::collections::BTreeMap;

use rye_resolve::{Config, Item, Space};
use rye_tools::mcp::{Reached, Server, ServerAddress, ServerHeader, ServerProgram};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, read, refuse};

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

impl ConfigFile for ServersFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "mcp_servers";
    const IS_SECRETIVE: bool = true;

    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        of_each(value, |server| server.only_for_operators().map(str::to_owned).collect())
    }

    /// Returns servers that are reached in no way, and keys that mean nothing beside others.
    fn problems_of_meaning(value: &Value) -> Vec<ConfigProblem> {
        of_each(value, |server| server.into_server("server", Space::User).err().unwrap_or_default())
    }
}

/// The form of a server's name, which is a segment of the ids of its wrappers.
const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// One server: a program, or an address. A program serves over its standard input and output, in the sandbox
/// of all programs. A server at an address is run elsewhere, and the rules of `agent/web` hold for it. It has
/// `command` or `url`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct ServerFile {
    /// The program, by its path or by its name in `PATH`.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1))]
    command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    args: Option<Vec<String>>,
    /// The folder that it starts in, relative to the project. Default: the project itself for a server of the project, an
    /// empty folder of its own for one of the user space or the system.
    #[serde(default)]
    #[schemars(with = "String")]
    cwd: Option<String>,
    /// Variables of its environment beside those of every program; not for secrets, because every reader of
    /// the file sees them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    env: Option<BTreeMap<String, String>>,
    /// Names of variables that are handed on from the environment that Rye runs in. Not for projects.
    #[serde(default)]
    #[schemars(with = "Vec<String>", inner(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$")))]
    variables: Option<Vec<String>>,
    /// `true` if it may use the network; default `false`.
    #[serde(default)]
    #[schemars(with = "bool")]
    network: Option<bool>,
    /// The address that is asked over streamable HTTP, such as `https://example.org/mcp`.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1))]
    url: Option<String>,
    /// The credential that is sent to the address. Not for projects.
    #[serde(default)]
    #[schemars(with = "AuthFile")]
    auth: Option<AuthFile>,
    /// Further headers, each with the variable that holds its value. Not for projects.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, HeaderFile>")]
    headers: Option<BTreeMap<String, HeaderFile>>,
    /// `true` if the address may be on this machine or in a private network; default `false`. Not for
    /// projects.
    #[serde(default)]
    #[schemars(with = "bool")]
    private: Option<bool>,
    /// Seconds until it has to have said what it offers; default 30.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    startup_seconds: Option<u64>,
    /// Seconds that a call may take, unless its wrapper says otherwise; default 120.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    timeout_seconds: Option<u64>,
}

/// The source of a credential and the header that carries it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct AuthFile {
    /// The variable that holds it; never the credential itself.
    env: String,
    /// The header; default `authorization`, which carries `Bearer` and the credential; any other carries it alone.
    #[serde(default)]
    #[schemars(with = "String")]
    header: Option<String>,
}

/// The source of a header's value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct HeaderFile {
    /// The variable that holds the value; never the value itself.
    env: String,
}

/// Returns the servers of all layers, each with the file that describes it.
///
/// One file alone describes a server. A server merged from two files would be a text that no key signed.
///
/// # Errors
///
/// The function fails if a layer breaks the schema. It fails too if a project's layer names variables or a
/// server of the operator's.
pub(crate) fn servers(
    config: Option<&Config>,
) -> Result<BTreeMap<String, (Server, &Item<Value>)>, ConfigError> {
    let mut servers = BTreeMap::new();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: ServersFile = read(layer)?;
        if layer.location.space == Space::Project {
            refuse_more(layer, &file, &servers)?;
        }
        let mut problems = Vec::new();
        for (name, server) in file.servers {
            match server.into_server(&name, layer.location.space) {
                Ok(server) => drop(servers.insert(name, (server, layer))),
                Err(found) => problems
                    .extend(found.into_iter().map(|it| format!("at `/servers/{name}`: {it}"))),
            }
        }
        refuse::<ServersFile>(layer, problems)?;
    }
    Ok(servers)
}

/// Refuses a project's layer that redefines a server of the operator or asks for variables. A wrapper for the
/// operator's server means that server. The variables of the operator's environment are not for a project to
/// take.
fn refuse_more(
    layer: &Item<Value>,
    file: &ServersFile,
    servers: &BTreeMap<String, (Server, &Item<Value>)>,
) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    for name in file.servers.keys() {
        if servers.contains_key(name) {
            problems.push(format!(
                "a project may not change server `{name}` of the user space or the system; call it something else"
            ));
        }
    }
    refuse::<ServersFile>(layer, problems)
}

fn of_each(value: &Value, problems: impl Fn(ServerFile) -> Vec<String>) -> Vec<ConfigProblem> {
    let Ok(file) = serde_json::from_value::<ServersFile>(value.clone()) else { return Vec::new() };
    let of_one = |(name, server): (String, ServerFile)| {
        let place = format!("/servers/{name}");
        let problems = problems(server).into_iter();
        problems.map(|problem| ConfigProblem::new(&place, problem)).collect::<Vec<_>>()
    };
    file.servers.into_iter().flat_map(of_one).collect()
}

impl ServerFile {
    /// Returns the problems of a project's entry that only an operator may write.
    fn only_for_operators(&self) -> impl Iterator<Item = &'static str> {
        let variables = self.variables.as_ref().is_some_and(|names| !names.is_empty());
        let secrets = self.auth.is_some() || self.headers.is_some();
        [
            (
                variables,
                "a project may not say which variables a server is handed; `variables` is for the user space",
            ),
            (
                secrets,
                "a project may not say which variables an address is sent; `auth` and `headers` are for the user space",
            ),
            (
                self.private == Some(true),
                "a project may not reach private addresses; `private` is for the user space",
            ),
        ]
        .into_iter()
        .filter(|(is_said, _)| *is_said)
        .map(|(_, problem)| problem)
    }

    fn into_server(mut self, name: &str, space: Space) -> Result<Server, Vec<String>> {
        let reached = match (self.command.take(), self.url.take()) {
            (Some(command), None) => self.program(&command, space).map(Reached::from)?,
            (None, Some(url)) => self.address(&url).map(Reached::from)?,
            _ => return Err(vec!["a server has either `command` or `url`".to_owned()]),
        };
        let mut server = Server::new(name, reached);
        server.startup_seconds = self.startup_seconds;
        server.timeout_seconds = self.timeout_seconds;
        Ok(server)
    }

    fn program(&mut self, command: &str, space: Space) -> Result<ServerProgram, Vec<String>> {
        refuse_misplaced(
            "command",
            &[
                ("auth", self.auth.is_some()),
                ("headers", self.headers.is_some()),
                ("private", self.private.is_some()),
            ],
        )?;
        let mut program = ServerProgram::new(command);
        program.arguments = self.args.take().unwrap_or_default();
        let of_project = (space == Space::Project).then(String::new);
        program.folder = self.cwd.take().or(of_project);
        program.environment = self.env.take().unwrap_or_default();
        program.variables = self.variables.take().unwrap_or_default();
        program.network = self.network.unwrap_or_default();
        Ok(program)
    }

    fn address(&mut self, url: &str) -> Result<ServerAddress, Vec<String>> {
        refuse_misplaced(
            "url",
            &[
                ("args", self.args.is_some()),
                ("cwd", self.cwd.is_some()),
                ("env", self.env.is_some()),
                ("network", self.network.is_some()),
                ("variables", self.variables.is_some()),
            ],
        )?;
        let mut address = ServerAddress::new(url);
        address.private = self.private.unwrap_or_default();
        for (name, header) in self.headers.take().unwrap_or_default() {
            let name = name.to_ascii_lowercase();
            let value = variable("headers", &header.env)?;
            if address.headers.insert(name.clone(), ServerHeader::new(value)).is_some() {
                return Err(vec![format!(
                    "header `{name}` is there twice; its case does not matter"
                )]);
            }
        }
        if let Some(AuthFile { env, header }) = self.auth.take() {
            variable("auth", &env)?;
            let header = header.unwrap_or_else(|| BEARER.to_owned()).to_ascii_lowercase();
            let value = match header.as_str() {
                BEARER => ServerHeader::bearer(&env),
                _ => ServerHeader::new(&env),
            };
            if address.headers.insert(header.clone(), value).is_some() {
                return Err(vec![format!("header `{header}` is of `auth` and of `headers` too")]);
            }
        }
        let problems = address.problems();
        if problems.is_empty() { Ok(address) } else { Err(problems) }
    }
}

/// The header that carries a credential behind a word.
const BEARER: &str = "authorization";

/// Returns `name` if it is the name of a variable. Any other text may be the secret itself in the wrong
/// place, so that the error does not repeat it.
fn variable<'a>(key: &str, name: &'a str) -> Result<&'a str, Vec<String>> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(name);
    }
    Err(vec![format!(
        "`env` in `{key}` is no name of a variable; name the variable that holds the value, never the value"
    )])
}

/// Refuses keys that belong to the other way of reaching a server.
fn refuse_misplaced(by: &str, keys: &[(&str, bool)]) -> Result<(), Vec<String>> {
    let said = keys.iter().filter(|(_, is_said)| *is_said);
    let problems: Vec<String> =
        said.map(|(key, _)| format!("`{key}` has no meaning beside `{by}`")).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
