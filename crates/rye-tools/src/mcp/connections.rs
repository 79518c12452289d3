//! The connections of a thread and of all threads below it: one to each server, opened when a tool is first called.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;

use super::address;
use super::connection::{ConnectError, Connection, Offered, Wire};
use super::secrets::Secrets;
use super::server::{Reached, Server, ServerProgram};
use super::tool_set::ToolSet;
use crate::process::{Job, Processes, limit_of};
use crate::web::Web;

/// How often a server is started, should it not last.
const STARTS: u32 = 3;

/// How long a server has until it said what it offers, when nobody says.
const STARTUP: u64 = 30;

/// Open connections, which end with this value and their servers with them.
#[derive(Debug)]
pub struct Connections {
    processes: Arc<Processes>,
    web: Option<Arc<Web>>,
    slots: Mutex<BTreeMap<Server, Arc<AsyncMutex<Slot>>>>,
}

/// One server, as far as it was started.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    starts: u32,
}

impl Connections {
    /// None yet; servers are started as all programs of the project are.
    #[must_use]
    pub fn new(processes: &Arc<Processes>) -> Arc<Self> {
        let (processes, slots) = (Arc::clone(processes), Mutex::default());
        Arc::new(Self { processes, web: None, slots })
    }

    /// None yet; servers at addresses are asked by the rules that `web` goes by, too.
    #[must_use]
    pub fn reaching(processes: &Arc<Processes>, web: &Arc<Web>) -> Arc<Self> {
        let (processes, slots) = (Arc::clone(processes), Mutex::default());
        Arc::new(Self { processes, web: Some(Arc::clone(web)), slots })
    }

    /// What the server offers now, each tool as it lists it: the server is started, asked and ended.
    ///
    /// # Errors
    ///
    /// When it cannot be started, does not speak the protocol, or offers what cannot be pinned.
    pub async fn discover(&self, server: &Server) -> Result<(ToolSet, Vec<Value>), ConnectError> {
        let secrets = self.secrets(server);
        let offered = async { self.start(server).await?.offered(startup(server)).await };
        let offered = offered.await.map_err(|error| secrets.error(error))?;
        let Offered { set, listed } = &*offered;
        if secrets.are_in(listed) {
            return Err(ConnectError::Repeats);
        }
        Ok((set.clone(), listed.clone()))
    }

    /// What the server is sent that nobody else is told.
    pub(super) fn secrets(&self, server: &Server) -> Secrets {
        Secrets::of(server, |name| self.processes.variable(name))
    }

    /// The connection to the server, which is opened where there is none that still stands.
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
        // What somebody else runs is not started here, however often it is asked.
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
                Wire::Pipes(Box::new(self.processes.lasting(&self.job(program)?).await?))
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
        Ok(Job {
            words: words.map(Into::into).collect(),
            script: None,
            cwd: PathBuf::from(&program.folder),
            environment,
            input: None,
            limit: limit_of(Some(u64::MAX)),
            network: program.network,
        })
    }
}

fn startup(server: &Server) -> Duration {
    limit_of(Some(server.startup_seconds.unwrap_or(STARTUP)))
}
