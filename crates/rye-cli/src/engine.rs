//! Threads on a durable engine: the requests of the operator, and the records that the engine keeps.
//!
//! Each request is signed with the operator's key, because a tool may reach the engine, too. A worker with the same key
//! drives the threads (`docs/scale.md`). What the engine answers is a hint: each statement about a thread comes from
//! records that were verified with the operator's key.

mod client;
mod decision;
mod ingress;
mod list;
mod outcome;
mod pull;
mod run;
mod transcripts;

use clap::Args;
use rye::WorkerLabel;

pub(crate) use self::client::{Engine, refuse_option};
pub(crate) use self::outcome::commands;
pub(crate) use self::transcripts::Mirror;
use crate::environment::Environment;
use crate::failure::Failure;

/// The option that names an engine.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineOption {
    /// A durable engine that drives threads in place of this machine: its address, or its name in `config/agent/engines.yaml`
    #[arg(long, value_name = "ENGINE", help_heading = "Engine")]
    engine: Option<String>,
    /// The label of the workers that run the thread there, instead of the one in `config/agent/engines.yaml`
    #[arg(long, value_name = "LABEL", requires = "engine", help_heading = "Engine")]
    label: Option<WorkerLabel>,
}

impl EngineOption {
    /// Returns `true` if a thread of an engine is meant.
    pub(crate) fn is_given(&self) -> bool {
        self.engine.is_some()
    }

    /// Returns the engine, or `None` for a thread of this machine.
    pub(crate) fn open(&self, environment: &Environment) -> Result<Option<Engine>, Failure> {
        let open = |engine: &String| Engine::open(engine, self.label.clone(), environment);
        self.engine.as_ref().map(open).transpose()
    }
}
