//! The connections of a thread tree: one for each server, opened by the first call of a tool.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use super::address;
use super::awaited::Awaited;
use super::connection::{ConnectError, Connection, ToolListing, Wire};
use super::facts::{LearnedFacts, ServerFacts};
use super::opening::{Beginning, Opening};
use super::secrets::Secrets;
use super::server::{Reached, Server, ServerProgram};
use super::tool_set::ToolSet;
use rye_sandbox::{Job, Processes, limit_of};
use rye_web::Web;

/// The number of starts of a server that ends again and again.
const STARTS: u32 = 3;

/// The seconds until a server must have listed its tools, if the configuration has no limit.
const STARTUP: u64 = 30;

/// The longest time for an answer to `server/discover`. A server that says nothing until then is taken for one of an older revision.
/// The protocol's library waits ten seconds and then takes whatever comes for the answer to `initialize`, so this is less.
const PATIENCE: Duration = Duration::from_secs(8);

/// A set of open connections. Dropping it ends the connections and the servers.
#[derive(Debug)]
pub struct Connections {
    processes: Arc<Processes>,
    web: Option<Arc<Web>>,
    facts: Arc<dyn ServerFacts>,
    slots: Mutex<BTreeMap<Server, Arc<AsyncMutex<Slot>>>>,
}

/// The tools of a server, as it lists them now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Discovered {
    /// The set to pin.
    pub set: ToolSet,
    /// The tools of the set as listed.
    pub tools: Vec<Value>,
    /// Each entry of the list that is no usable tool, with the reason.
    pub left_out: Vec<String>,
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
        Self::remembering(processes, None, Arc::new(LearnedFacts::default()))
    }

    /// Creates an empty set that can also reach servers at addresses, by the rules of `web`.
    #[must_use]
    pub fn reaching(processes: &Arc<Processes>, web: &Arc<Web>) -> Arc<Self> {
        Self::remembering(processes, Some(web), Arc::new(LearnedFacts::default()))
    }

    /// Creates an empty set that uses facts about servers, and adds those that it learns. Without `web`, no server at an address is
    /// reached.
    #[must_use]
    pub fn remembering(
        processes: &Arc<Processes>,
        web: Option<&Arc<Web>>,
        facts: Arc<dyn ServerFacts>,
    ) -> Arc<Self> {
        let processes = Arc::clone(processes);
        Arc::new(Self { processes, web: web.cloned(), facts, slots: Mutex::default() })
    }

    /// Starts the server, lists its tools and ends it.
    ///
    /// # Errors
    ///
    /// If the server cannot be started, does not support the protocol, or offers tools that cannot be pinned.
    pub async fn discover(&self, server: &Server) -> Result<Discovered, ConnectError> {
        let secrets = self.secrets(server);
        let offered = async { self.start(server).await?.list_tools(startup(server)).await };
        let offered = offered.await.map_err(|error| secrets.error(error))?;
        let ToolListing { set, listed, left_out } = &*offered;
        if secrets.are_in(listed) {
            return Err(ConnectError::Repeats);
        }
        Ok(Discovered { set: set.clone(), tools: listed.clone(), left_out: left_out.clone() })
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

    /// Starts the server, or connects to it. Some servers end at a first message that they do not know, so that a program which did
    /// not begin is started once more with the other one.
    async fn start(&self, server: &Server) -> Result<Connection, ConnectError> {
        let limit = startup(server);
        let until = Instant::now() + limit;
        let is_known = self.facts.begins_with_initialize(server);
        let first = if is_known { Beginning::Initialize } else { Beginning::Discover };
        let mut begun = self.begin(server, first, limit, until).await;
        let other = match (first, &server.reached, &begun) {
            (Beginning::Discover, Reached::Program(_), Err(ConnectError::Begin { .. })) => {
                Some(Beginning::Initialize)
            }
            (
                Beginning::Initialize,
                _,
                Err(ConnectError::Begin { .. } | ConnectError::Http { .. }),
            ) => Some(Beginning::Discover),
            _ => None,
        };
        if let Some(other) = other {
            begun = self.begin(server, other, limit, until).await;
        }
        let has_initialized =
            begun.as_ref().is_ok_and(|begun| begun.beginning() == Beginning::Initialize);
        if has_initialized != is_known {
            self.facts.learn(server, has_initialized);
        }
        begun
    }

    /// Makes one attempt to open a connection.
    async fn begin(
        &self,
        server: &Server,
        beginning: Beginning,
        limit: Duration,
        until: Instant,
    ) -> Result<Connection, ConnectError> {
        let opening = Opening {
            beginning,
            awaited: Awaited::default(),
            patience: PATIENCE.min(limit / 3),
            secrets: self.secrets(server),
        };
        let begun = async {
            let wire = match &server.reached {
                Reached::Program(program) => {
                    Wire::Pipes(Box::new(self.processes.start_server(&self.job(program)?).await?))
                }
                Reached::Address(address) => {
                    let variable = |name: &str| self.processes.variable(name);
                    let web = self.web.as_ref();
                    Wire::Http(address::transport(address, web, variable, &opening).await?)
                }
            };
            Connection::open(wire, opening.clone()).await
        };
        let begun = tokio::time::timeout_at(until, begun).await;
        begun.unwrap_or(Err(ConnectError::Late { seconds: limit.as_secs() }))
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
