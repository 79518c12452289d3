//! Wrappers: tools of a server under a manifest that decides the tool and the fixed arguments.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::CallToolRequestParams;
use rye_thread::{AuthorisedCall, OutputSink, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use super::connection::{ConnectError, ToolListing};
use super::connections::Connections;
use super::result::output;
use super::secrets::Secrets;
use super::server::Server;
use super::tool_set::ToolSet;
use rye_sandbox::limit_of;

/// A tool of a server, as a signed manifest declares it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wrapper {
    /// The server.
    pub server: Server,
    /// Everything that the server may offer. If it offers anything else, none of its tools is called.
    pub pinned: Arc<ToolSet>,
    /// The tool's name on the server.
    pub tool: String,
    /// Arguments that are always sent and that callers cannot change.
    pub fixed: Map<String, Value>,
    /// The argument that holds the caller's arguments. If it is `None`, they are sent beside the fixed ones.
    pub nested_in: Option<String>,
    /// The timeout in seconds. It replaces that of the server's configuration.
    pub timeout_seconds: Option<u64>,
}

/// The reason why a wrapper cannot become a tool.
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
    /// Callers could set a fixed argument.
    #[error(
        "`{name}` is of `fixed_params` and an argument of callers too; take it out of one of them"
    )]
    Both {
        /// The argument.
        name: String,
    },
}

impl Wrapper {
    /// Creates a wrapper without fixed arguments.
    #[must_use]
    pub fn new(server: Server, pinned: Arc<ToolSet>, tool: &str) -> Self {
        let fixed = Map::new();
        let tool = tool.to_owned();
        Self { server, pinned, tool, fixed, nested_in: None, timeout_seconds: None }
    }

    /// Returns the tool over these connections, for arguments that satisfy `schema`.
    ///
    /// # Errors
    ///
    /// If the pinned set has no such tool, or if callers could set a fixed argument.
    pub fn tool(
        self,
        schema: &Value,
        connections: &Arc<Connections>,
    ) -> Result<Arc<dyn Tool>, WrapperError> {
        if !self.pinned.has(&self.tool) {
            let server = self.server.name;
            let tool = self.tool;
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

    /// Returns the arguments to send. A fixed argument that the caller sets too is an error, whatever the
    /// schema allows.
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
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.call_with_sink(call, &()).await
    }

    async fn call_with_sink(&self, call: AuthorisedCall, told: &dyn OutputSink) -> ToolOutput {
        let arguments = call.into_arguments();
        let given = arguments.as_object().cloned().unwrap_or_default();
        let arguments = match self.wrapper.arguments(given) {
            Ok(arguments) => arguments,
            Err(name) => {
                let message = format!("the argument `{name}` is fixed; leave it out");
                return ToolOutput::refusal(json!({ "error": message }));
            }
        };
        let params =
            CallToolRequestParams::new(self.wrapper.tool.clone()).with_arguments(arguments);
        let secrets = self.connections.secrets(&self.wrapper.server);
        secrets.output(match self.call_server(params, &secrets, told).await {
            Ok(output) => output,
            Err(error) => error_output(&self.wrapper.server.name, &error),
        })
    }
}

impl Wrapped {
    /// Calls the tool, and calls it again if the server has forgotten the session, because an unknown session
    /// means that nothing was done.
    async fn call_server(
        &self,
        params: CallToolRequestParams,
        secrets: &Secrets,
        told: &dyn OutputSink,
    ) -> Result<ToolOutput, ConnectError> {
        match self.call_server_once(params.clone(), secrets, told).await {
            Err(ConnectError::Expired) => self.call_server_once(params, secrets, told).await,
            answered => answered,
        }
    }

    async fn call_server_once(
        &self,
        params: CallToolRequestParams,
        secrets: &Secrets,
        told: &dyn OutputSink,
    ) -> Result<ToolOutput, ConnectError> {
        let Wrapper { server, pinned, timeout_seconds, .. } = &self.wrapper;
        let connection = self.connections.to(server).await?;
        let limit = limit_of(timeout_seconds.or(server.timeout_seconds));
        let offered = connection.list_tools(limit).await?;
        if offered.set != **pinned {
            // The names are cut for the message, so that secrets must be found before.
            if secrets.are_in(&offered.listed) {
                return Err(ConnectError::Repeats);
            }
            return Ok(refuse_changed(&server.name, pinned, &offered));
        }
        Ok(output(&connection.call(params, limit, told).await?, secrets))
    }
}

/// The largest number of changes in a refusal.
const NAMED: usize = 20;

/// Refuses the call and lists the changes by name. The texts of the server are left out, because the model
/// reads the message.
fn refuse_changed(server: &str, pinned: &ToolSet, now: &ToolListing) -> ToolOutput {
    let changes = pinned.changes(&now.set);
    let mut named: Vec<String> = changes.iter().take(NAMED).map(ToString::to_string).collect();
    if changes.len() > NAMED {
        named.push(format!("{} more", changes.len() - NAMED));
    }
    let message = format!(
        "server `{server}` does not offer what was locked, so nothing of it is called; the operator has to review it with \
         `rye mcp discover {server}` and accept it with `rye lock --server {server}`"
    );
    let mut content = json!({ "error": message, "changes": named });
    if !now.left_out.is_empty() {
        content["left_out"] = now.left_out.iter().take(NAMED).cloned().collect();
    }
    ToolOutput::refusal(content)
}

fn error_output(server: &str, error: &ConnectError) -> ToolOutput {
    let mut content = json!({ "error": format!("server `{server}`: {error}") });
    if let ConnectError::Begin { stderr, .. } | ConnectError::Gone { stderr, .. } = error
        && !stderr.is_empty()
    {
        content["stderr"] = stderr.as_str().into();
    }
    match error {
        ConnectError::Refused(_) => ToolOutput::refusal(content),
        _ => ToolOutput::error(content),
    }
}

#[cfg(test)]
mod tests;
