//! A tool of a server behind a wrapper of our own, which alone says what is called and with what.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::CallToolRequestParams;
use rye_caps::Permit;
use rye_thread::{OutputSink, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use super::connection::ConnectError;
use super::connections::Connections;
use super::result::output;
use super::secrets::Secrets;
use super::server::Server;
use super::tool_set::ToolSet;
use crate::process::limit_of;

/// What a signed manifest makes of one tool of one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wrapper {
    /// The server.
    pub server: Server,
    /// Everything that the server may offer; offers it anything else, nothing of it is called.
    pub pinned: Arc<ToolSet>,
    /// The tool's name on the server.
    pub tool: String,
    /// Arguments that are always sent, and that no caller changes.
    pub fixed: Map<String, Value>,
    /// The argument that the caller's arguments are sent in; without one, they are sent beside the fixed ones.
    pub nested_in: Option<String>,
    /// Seconds after which it is given up, in place of what the server's configuration says.
    pub timeout_seconds: Option<u64>,
}

/// Why a wrapper cannot be a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrapperError {
    /// The server did not offer the tool when it was pinned.
    #[error("server `{server}` had no tool `{tool}` when it was locked")]
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A caller could set what is fixed.
    #[error(
        "`{name}` is of `fixed_params` and an argument of callers too; take it out of one of them"
    )]
    Both {
        /// The argument.
        name: String,
    },
}

impl Wrapper {
    /// The tool with nothing fixed.
    #[must_use]
    pub fn new(server: Server, pinned: Arc<ToolSet>, tool: &str) -> Self {
        let (fixed, tool) = (Map::new(), tool.to_owned());
        Self { server, pinned, tool, fixed, nested_in: None, timeout_seconds: None }
    }

    /// The tool over these connections, for callers whose arguments satisfy `schema`.
    ///
    /// # Errors
    ///
    /// When the server was pinned without such a tool, and when a caller could name an argument that is fixed.
    pub fn tool(
        self,
        schema: &Value,
        connections: &Arc<Connections>,
    ) -> Result<Arc<dyn Tool>, WrapperError> {
        if !self.pinned.has(&self.tool) {
            let (server, tool) = (self.server.name, self.tool);
            return Err(WrapperError::NoTool { server, tool });
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let named = named.into_iter().flat_map(Map::keys);
        let beside = match &self.nested_in {
            Some(key) => vec![key],
            None => named.collect(),
        };
        if let Some(name) = beside.into_iter().find(|name| self.fixed.contains_key(*name)) {
            return Err(WrapperError::Both { name: name.clone() });
        }
        Ok(Arc::new(Wrapped { connections: Arc::clone(connections), wrapper: self }))
    }

    /// What is sent; the name of a fixed argument that the caller gave too is an error, whatever the schema allows.
    fn arguments(&self, given: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut sent = self.fixed.clone();
        let given = match &self.nested_in {
            Some(key) => Map::from_iter([(key.clone(), Value::from(given))]),
            None => given,
        };
        for (name, value) in given {
            if sent.contains_key(&name) {
                return Err(name);
            }
            sent.insert(name, value);
        }
        Ok(sent)
    }
}

struct Wrapped {
    connections: Arc<Connections>,
    wrapper: Wrapper,
}

#[async_trait]
impl Tool for Wrapped {
    async fn call(&self, permit: &Permit, arguments: Value) -> ToolOutput {
        self.watched(permit, arguments, &()).await
    }

    async fn watched(&self, _: &Permit, arguments: Value, told: &dyn OutputSink) -> ToolOutput {
        let given = arguments.as_object().cloned().unwrap_or_default();
        let arguments = match self.wrapper.arguments(given) {
            Ok(arguments) => arguments,
            Err(name) => {
                let message = format!("the argument `{name}` is fixed; leave it out");
                return ToolOutput::refused(json!({ "error": message }));
            }
        };
        let params =
            CallToolRequestParams::new(self.wrapper.tool.clone()).with_arguments(arguments);
        let secrets = self.connections.secrets(&self.wrapper.server);
        secrets.output(match self.called(params, &secrets, told).await {
            Ok(output) => output,
            Err(error) => failed(&self.wrapper.server.name, &error),
        })
    }
}

impl Wrapped {
    /// Calls it, and once more where the server forgot the session: what it does not know it did not do.
    async fn called(
        &self,
        params: CallToolRequestParams,
        secrets: &Secrets,
        told: &dyn OutputSink,
    ) -> Result<ToolOutput, ConnectError> {
        match self.called_once(params.clone(), secrets, told).await {
            Err(ConnectError::Expired) => self.called_once(params, secrets, told).await,
            answered => answered,
        }
    }

    async fn called_once(
        &self,
        params: CallToolRequestParams,
        secrets: &Secrets,
        told: &dyn OutputSink,
    ) -> Result<ToolOutput, ConnectError> {
        let Wrapper { server, pinned, timeout_seconds, .. } = &self.wrapper;
        let connection = self.connections.to(server).await?;
        let limit = limit_of(timeout_seconds.or(server.timeout_seconds));
        let offered = connection.offered(limit).await?;
        if offered.set != **pinned {
            // Names are cut where they are told.
            if secrets.are_in(&offered.listed) {
                return Err(ConnectError::Repeats);
            }
            return Ok(refused(&server.name, pinned, &offered.set));
        }
        Ok(output(&connection.call(params, limit, told).await?, secrets))
    }
}

/// The most changes that a refusal names.
const NAMED: usize = 20;

/// Says what changed by names alone: the texts are the server's, and meant for a person who decides.
fn refused(server: &str, pinned: &ToolSet, now: &ToolSet) -> ToolOutput {
    let changes = pinned.changes(now);
    let mut named: Vec<String> = changes.iter().take(NAMED).map(ToString::to_string).collect();
    if changes.len() > NAMED {
        named.push(format!("{} more", changes.len() - NAMED));
    }
    let message = format!(
        "server `{server}` does not offer what was locked, so nothing of it is called; somebody has to look at it with \
         `rye mcp discover {server}` and accept it with `rye lock --server {server}`"
    );
    ToolOutput::refused(json!({ "error": message, "changes": named }))
}

fn failed(server: &str, error: &ConnectError) -> ToolOutput {
    let mut content = json!({ "error": format!("server `{server}`: {error}") });
    if let ConnectError::Begin { stderr, .. } | ConnectError::Gone { stderr, .. } = error
        && !stderr.is_empty()
    {
        content["stderr"] = stderr.as_str().into();
    }
    match error {
        ConnectError::Refused(_) => ToolOutput::refused(content),
        _ => ToolOutput::error(content),
    }
}

#[cfg(test)]
mod tests;
