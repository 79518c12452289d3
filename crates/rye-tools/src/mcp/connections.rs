//! The connections of a thread tree: one for each server, opened by the first call of a tool.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;

use super::address;
use super::connection::{ConnectError, Connection, ToolListing, Wire};
use super::secrets::Secrets;
use super::server::{Reached, Server, ServerProgram};
use super::tool_set::ToolSet;
use rye_sandbox::{Job, Processes, limit_of};
use rye_web::Web;

/// The number of starts of a server that ends again and again.
const STARTS: u32 = 3;

/// The seconds until a server must have listed its tools, if the configuration has no limit.
const STARTUP: u64 = 30;

/// A set of open connections. Dropping it ends the connections and the servers.
#[derive(Debug)]
pub struct Connections {
    processes: Arc<Processes>,
    web: Option<Arc<Web>>,
    slots: Mutex<BTreeMap<Server, Arc<AsyncMutex<Slot>>>>,
}

/// A server with its connection, if it is open, and the number of its starts.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    starts: u32,
}

impl Connections {
    /// Creates an empty set. Servers are started like all programs of the project.
    #[must_use]
    pub fn new(processes: &Arc<Processes>) -> Arc<Self> {
        let processes = Arc::clone(processes);
        let slots = Mutex::default();
        Arc::new(Self { processes, web: None, slots })
    }

    /// Creates an empty set that can also reach servers at addresses, by the rules of `web`.
    #[must_use]
    pub fn reaching(processes: &Arc<Processes>, web: &Arc<Web>) -> Arc<Self> {
        let processes = Arc::clone(processes);
        let slots = Mutex::default();
        Arc::new(Self { processes, web: Some(Arc::clone(web)), slots })
    }

    /// Starts the server, lists its tools and ends it. Returns the set to pin and the tools as listed.
    ///
    /// # Errors
    ///
    /// If the server cannot be started, does not support the protocol, or offers tools that cannot be pinned.
    pub async fn discover(&self, server: &Server) -> Result<(ToolSet, Vec<Value>), ConnectError> {
        let secrets = self.secrets(server);
        let offered = async { self.start(server).await?.list_tools(startup(server)).await };
        let offered = offered.await.map_err(|error| secrets.error(error))?;
        let ToolListing { set, listed } = &*offered;
        if secrets.are_in(listed) {
            return Err(ConnectError::Repeats);
        }
        Ok((set.clone(), listed.clone()))
    }

    /// Returns the secrets that the server receives.
    pub(super) fn secrets(&self, server: &Server) -> Secrets {
        Secrets::of(server, |name| self.processes.variable(name))
    }

    /// Returns the connection to the server, and opens it if there is none.
    pub(super) async fn to(&self, server: &Server) -> Result<Arc<Connection>, ConnectError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(server.clone()).or_default())
        };
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.connection.as_ref().filter(|it| it.is_open()) {
            return Ok(Arc::clone(connection));
        }
        slot.connection = None;
        // Only starts of programs are counted, because servers at addresses are not started here.
        if matches!(server.reached, Reached::Program(_)) {
            if slot.starts == STARTS {
                return Err(ConnectError::TooOften { times: STARTS });
            }
            slot.starts += 1;
        }
        let connection = Arc::new(self.start(server).await?);
        slot.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn start(&self, server: &Server) -> Result<Connection, ConnectError> {
        let limit = startup(server);
        let wire = match &server.reached {
            Reached::Program(program) => {
                Wire::Pipes(Box::new(self.processes.start_server(&self.job(program)?).await?))
            }
            Reached::Address(address) => {
                let variable = |name: &str| self.processes.variable(name);
                let found = address::transport(address, self.web.as_ref(), variable);
                let found = tokio::time::timeout(limit, found).await;
                Wire::Http(found.map_err(|_| ConnectError::Late { seconds: limit.as_secs() })??)
            }
        };
        Connection::open(wire, limit, self.secrets(server)).await
    }

    fn job(&self, program: &ServerProgram) -> Result<Job, ConnectError> {
        let mut environment = program.environment.clone();
        for name in &program.variables {
            let value = self.processes.variable(name);
            let value = value.ok_or_else(|| ConnectError::Variable { name: name.clone() })?;
            environment.insert(name.clone(), value);
        }
        let words = std::iter::once(&program.command).chain(&program.arguments);
        let mut job = Job::new(words.map(Into::into).collect());
        job.is_apart = program.folder.is_none();
        job.cwd = program.folder.iter().collect();
        job.environment = environment;
        job.limit = limit_of(Some(u64::MAX));
        job.network = program.network;
        Ok(job)
    }
}

fn startup(server: &Server) -> Duration {
    limit_of(Some(server.startup_seconds.unwrap_or(STARTUP)))
}
