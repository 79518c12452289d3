//! Which server it is and how it is reached.

use std::collections::BTreeMap;

/// A server of the operator's or a project's configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Server {
    /// What configuration calls it; what it calls itself is nobody's business.
    pub name: String,
    /// The program that serves over its standard input and output.
    pub program: ServerProgram,
    /// Seconds until it has to have said what it offers; thirty when not given.
    pub startup_seconds: Option<u64>,
    /// Seconds that a call may take; two minutes when not given.
    pub timeout_seconds: Option<u64>,
}

/// A program that is started in the project, in the sandbox of all programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerProgram {
    /// The program, by its path or by its name in `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it starts in, relative to the project; empty for the project itself.
    pub folder: String,
    /// Variables of its environment beside those of every program.
    pub environment: BTreeMap<String, String>,
    /// Variables that are handed on from the operator's environment; one that is not set keeps the server from starting.
    pub variables: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Server {
    /// A server that is a program, with the usual limits.
    #[must_use]
    pub fn new(name: &str, program: ServerProgram) -> Self {
        Self { name: name.to_owned(), program, startup_seconds: None, timeout_seconds: None }
    }
}

impl ServerProgram {
    /// The program alone, in the project's folder and without the network.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            arguments: Vec::new(),
            folder: String::new(),
            environment: BTreeMap::new(),
            variables: Vec::new(),
            network: false,
        }
    }
}
