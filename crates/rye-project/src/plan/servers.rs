//! Tools of MCP servers: the server of a wrapper, the provenance of its configuration, and its
//! locked state (SPEC 5.1, 9.4).

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use rye_caps::{Capability, Kind, Layer, Primary};
use rye_files::read_plain;
use rye_parse::{Executor, ToolManifest, nearest_name};
use rye_resolve::{Config, Item};
use rye_sandbox::Processes;
use rye_sign::Digest;
use rye_thread::Tool;
use rye_tools::BASH;
use rye_tools::mcp::{Connections, Reached, Server, ToolSet, Wrapper};
use rye_web::{SEND, Web};
use serde_json::Value;

use super::authority::of_signer;
use super::error::PrepareError;
use super::server_facts::FactFolder;
use super::web::reach;
use crate::causes::with_causes;
use crate::config::{SERVERS_FILE, servers};
use crate::lock::Lock;
use crate::place::LONGEST_FILE;
use crate::project::Project;

/// The servers that wrappers may name.
pub(crate) struct Servers {
    pub(crate) config: Option<Config>,
    connections: Option<Arc<Connections>>,
    lock: PathBuf,
    locked: OnceCell<Result<Lock, String>>,
}

/// Why a server is not asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerFault {
    /// No configuration has the server.
    #[error(
        "no configuration has a server `{server}`; {}add it to `servers` of `config/{SERVERS_FILE}.yaml`",
        near.as_ref().map(|near| format!("did you mean `{near}`? else ")).unwrap_or_default()
    )]
    Unknown {
        server: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// A rule says no.
    #[error("{0}")]
    Refused(String),
}

impl Servers {
    /// Reads which servers there are; none is started.
    pub(crate) fn of(
        project: &Project,
        processes: Option<&Arc<Processes>>,
    ) -> Result<Self, PrepareError> {
        let config = project.library.config(SERVERS_FILE)?;
        servers(config.as_ref())?;
        let folder = project.library.spaces().project().ok_or(PrepareError::NoProject)?;
        let connections = processes.map(|processes| connections(project, processes)).transpose()?;
        let lock = folder.join(".ai/rye.lock");
        let locked = OnceCell::new();
        Ok(Self { config, connections, lock, locked })
    }

    /// The tool of a server that a verified manifest wraps, with how the server is reached, or why it cannot be offered.
    pub(super) fn tool(
        &self,
        item: &Item<ToolManifest>,
        policy: &[Layer],
    ) -> Result<(Arc<dyn Tool>, Reached), String> {
        let manifest = item.content.value();
        let Executor::Mcp { server, tool, fixed_params, params_key, timeout_seconds, .. } =
            &manifest.executor
        else {
            return Err("its executor is no MCP server".to_owned());
        };
        let server = self.server(server, policy).map_err(|fault| fault.to_string())?;
        let connections =
            self.connections.as_ref().ok_or("this program does not start others".to_owned())?;
        let pinned = self.read_lock(&server.name)?;
        let reached = server.reached.clone();
        let mut wrapper = Wrapper::new(server, Arc::new(pinned), tool);
        wrapper.fixed = fixed_params.clone();
        wrapper.nested_in = params_key.clone();
        wrapper.timeout_seconds = *timeout_seconds;
        let tool = wrapper.tool(&manifest.input_schema, connections);
        tool.map(|tool| (tool, reached)).map_err(|error| error.to_string())
    }

    /// Returns the server of that name. The operator's policy and the signer of the server's
    /// configuration must both allow starting programs, or sending requests for a server with an
    /// address.
    pub(crate) fn server(&self, name: &str, policy: &[Layer]) -> Result<Server, ServerFault> {
        let servers = servers(self.config.as_ref());
        let mut servers = servers.map_err(|error| ServerFault::Refused(with_causes(&error)))?;
        let Some((server, layer)) = servers.remove(name) else {
            let near = nearest_name(name, servers.keys().map(String::as_str)).map(str::to_owned);
            return Err(ServerFault::Unknown { server: name.to_owned(), near });
        };
        let (power, done) = match server.reached {
            Reached::Address(_) => (SEND, "asked"),
            _ => (BASH, "started"),
        };
        vouch(layer, policy, power).map_err(|denied| {
            let location = &layer.location;
            let reason = format!("server `{name}` of `{location}` may not be {done}: {denied}");
            ServerFault::Refused(reason)
        })?;
        Ok(server)
    }

    /// The digest of what is locked of the server that a manifest wraps.
    pub(crate) fn accepted_digest(&self, manifest: &ToolManifest) -> Option<Digest> {
        let Executor::Mcp { server, .. } = &manifest.executor else { return None };
        let set = self.read_lock(server).ok()?;
        Some(Digest::of(set.canonical().as_bytes()))
    }

    fn read_lock(&self, name: &str) -> Result<ToolSet, String> {
        let lock = self.locked.get_or_init(|| {
            if !self.lock.exists() {
                return Ok(Lock::default());
            }
            let bytes = read_plain(&self.lock, LONGEST_FILE).map_err(|error| error.to_string())?;
            let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
            text.parse().map_err(|error: crate::LockError| error.to_string())
        });
        let lock = lock.as_ref().map_err(|error| {
            format!("what was locked of server `{name}` cannot be read: {error}")
        })?;
        lock.server(name).cloned().ok_or_else(|| {
            format!(
                "server `{name}` is not locked; look at it with `rye mcp discover {name}`, then accept it with \
                 `rye lock --server {name}`"
            )
        })
    }
}

fn vouch(layer: &Item<Value>, policy: &[Layer], power: &str) -> Result<(), String> {
    let signer =
        of_signer(policy, layer.content.provenance()).map_err(|error| with_causes(&error))?;
    let power = Capability::new(Primary::Execute, Kind::Tool, &format!("rye/{power}"))
        .expect("because a function's name is a valid id");
    signer.permit(&power.into()).map(drop).map_err(|denied| denied.to_string())
}

/// Those that threads which are driven now have already, else new ones: a tree has one connection to a server.
fn connections(
    project: &Project,
    processes: &Arc<Processes>,
) -> Result<Arc<Connections>, PrepareError> {
    let web = reach(project)?.web;
    let mut shared = project.connections.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(shared.upgrade().unwrap_or_else(|| {
        let new = new_connections(project, processes, web.as_ref());
        *shared = Arc::downgrade(&new);
        new
    }))
}

/// Returns connections that know what was learned of servers.
pub(crate) fn new_connections(
    project: &Project,
    processes: &Arc<Processes>,
    web: Option<&Arc<Web>>,
) -> Arc<Connections> {
    match (&project.server_facts, web) {
        (Some(folder), web) => {
            Connections::remembering(processes, web, Arc::new(FactFolder::new(folder)))
        }
        (None, Some(web)) => Connections::reaching(processes, web),
        (None, None) => Connections::new(processes),
    }
}
