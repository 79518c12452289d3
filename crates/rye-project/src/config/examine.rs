//! Configuration that a person asks about without running anything: all that is wrong with it, in all of its files.

use std::collections::BTreeMap;

use rye_resolve::{Config, Item};
use serde_json::Value;

use super::approval::Approval;
use super::engines::{EngineAddress, EnginesFile};
use super::read::{ConfigFile, read};
use super::servers::ServersFile;
use super::{approval_patterns, servers};
use crate::plan::PrepareError;
use crate::project::Project;

impl Project {
    /// Counts the patterns of `config/agent/approval.yaml` in all spaces; `None` where there is no such file.
    ///
    /// # Errors
    ///
    /// The method returns the problems of each of the files.
    pub fn approval_patterns(&self) -> Result<Option<usize>, Vec<PrepareError>> {
        let Some(config) = self.read_layers(Approval::FILE)? else { return Ok(None) };
        let files: Vec<Approval> = each(&config)?;
        approval_patterns(Some(&config)).map_err(|error| vec![error.into()])?;
        Ok(Some(files.iter().map(Approval::patterns).sum()))
    }

    /// Returns the names of the MCP servers that wrappers may name; `None` without a
    /// `config/mcp/servers.yaml`.
    ///
    /// # Errors
    ///
    /// The method returns the problems of each of the files. They repeat no text that may be a secret.
    pub fn mcp_servers(&self) -> Result<Option<Vec<String>>, Vec<PrepareError>> {
        let Some(config) = self.read_layers(ServersFile::FILE)? else { return Ok(None) };
        let _files: Vec<ServersFile> = each(&config)?;
        let servers = servers(Some(&config)).map_err(|error| vec![error.into()])?;
        Ok(Some(servers.into_keys().collect()))
    }

    /// Returns the durable engines of the operator by their names (`config/agent/engines.yaml`). Of two with one name, the
    /// nearer space decides.
    ///
    /// # Errors
    ///
    /// The method returns the problems of each of the files. A project's file may name no engine.
    pub fn engines(&self) -> Result<BTreeMap<String, EngineAddress>, Vec<PrepareError>> {
        let Some(config) = self.read_layers(EnginesFile::FILE)? else { return Ok(BTreeMap::new()) };
        let files: Vec<EnginesFile> = each(&config)?;
        Ok(files.into_iter().rev().flat_map(|file| file.engines).collect())
    }

    fn read_layers(&self, file: &str) -> Result<Option<Config>, Vec<PrepareError>> {
        self.library.config(file).map_err(|error| vec![error.into()])
    }
}

/// Every file, or what is wrong with all that are not as they have to be.
fn each<T: ConfigFile>(config: &Config) -> Result<Vec<T>, Vec<PrepareError>> {
    let read = |layer: &Item<Value>| read(layer).map_err(PrepareError::from);
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for layer in config.layers() {
        match read(layer) {
            Ok(file) => files.push(file),
            Err(error) => problems.push(error),
        }
    }
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}
