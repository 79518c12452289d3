//! What an MCP server offers, for somebody who decides whether it is to be used.

mod wrapper;

use rye_tools::mcp::{ConnectError, Connections, ToolChange, ToolSet};
use serde_json::{Value, json};

pub use self::wrapper::{NotWrapped, WrapperFile};
use crate::config::{ConfigError, policy_layers};
use crate::difference::TextChange;
use crate::outcome::Class;
use crate::session::{PrepareError, ServerFault, programs, reach};
use crate::{Rye, hidden_characters};

/// What a server offers now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerTools {
    /// Its name in configuration.
    pub server: String,
    /// What a lock holds of it.
    pub set: ToolSet,
    /// Its tools as it lists them, sorted by name.
    pub tools: Vec<Value>,
}

/// Why nobody knows what a server offers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerToolsError {
    /// The configuration is refused.
    #[error(transparent)]
    Prepare(#[from] Box<PrepareError>),
    /// The operator's policy is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No configuration has the server.
    #[error("{reason}")]
    Unknown {
        /// What there is instead, and what to do.
        reason: String,
    },
    /// It may not be started or asked.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// It cannot be asked.
    #[error("server `{server}` cannot be asked for its tools{}", said(.source))]
    Connect {
        /// The server.
        server: String,
        /// What happened.
        #[source]
        source: ConnectError,
    },
}

/// What the server complained of, which is where the reason mostly is.
fn said(error: &ConnectError) -> String {
    match error {
        ConnectError::Begin { stderr, .. } | ConnectError::Gone { stderr, .. }
            if !stderr.is_empty() =>
        {
            format!(" (on standard error it says: {stderr})")
        }
        _ => String::new(),
    }
}

impl ServerToolsError {
    /// Which exit code it comes to.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Prepare(error) => error.class(),
            Self::Config(_) | Self::Unknown { .. } | Self::Connect { .. } => Class::Failed,
            Self::Refused { .. } => Class::Refused,
        }
    }
}

impl Rye {
    /// Starts a server of the configuration, or goes to its address, asks it for its tools, and ends what was begun.
    ///
    /// # Errors
    ///
    /// When no configuration has it, the operator's policy or the file's signer may not start programs or send to other
    /// machines, or it cannot be asked.
    pub async fn server_tools(&self, server: &str) -> Result<ServerTools, ServerToolsError> {
        let programs = programs(self).map_err(Box::new)?;
        let policy = policy_layers(self.trust_config.as_ref())?;
        let refused = |reason: String| ServerToolsError::Refused { reason };
        let found = programs.servers.server(server, &policy).map_err(|fault| match fault {
            ServerFault::Unknown { .. } => ServerToolsError::Unknown { reason: fault.to_string() },
            ServerFault::Refused(reason) => refused(reason),
        })?;
        let processes = programs.processes.as_ref();
        let processes =
            processes.ok_or_else(|| refused("this program does not start others".to_owned()))?;
        let connections = match reach(self).map_err(Box::new)?.web {
            Some(web) => Connections::reaching(processes, &web),
            None => Connections::new(processes),
        };
        let asked = connections.discover(&found).await;
        let (set, mut tools) = asked
            .map_err(|source| ServerToolsError::Connect { server: server.to_owned(), source })?;
        tools.sort_by(|a, b| name(a).cmp(name(b)));
        Ok(ServerTools { server: server.to_owned(), set, tools })
    }
}

impl ServerTools {
    /// What is not as it was locked, each change with the text behind it; everything, where nothing was locked.
    #[must_use]
    pub fn changes(&self, locked: Option<&ToolSet>) -> Vec<ServerChange> {
        let before = locked.cloned().unwrap_or_default();
        let changes = before.changes(&self.set);
        changes.iter().map(|change| ServerChange::of(change, &before, &self.set)).collect()
    }

    /// All that a lock would hold of a tool, its schemas over several lines; empty for one that there is not. It is what the
    /// server wrote, hidden characters included.
    #[must_use]
    pub fn pinned_text(&self, tool: &str) -> String {
        whole(&self.set, tool)
    }

    /// What a reader should look at twice, tool by tool: what is hidden in a text, and what reads as if it were meant for a
    /// model and not about the tool. None of it proves anything.
    #[must_use]
    pub fn suspicions(&self) -> Vec<String> {
        self.tools.iter().flat_map(suspicions).collect()
    }

    /// The same facts as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "server": self.server, "tools": self.tools, "suspicions": self.suspicions() })
    }
}

/// The name of a tool in a list that was checked to have only tools with names.
fn name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// One change of what a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerChange {
    /// Which tool and which field.
    pub change: String,
    /// What was written there and is written now, as a unified diff; of a tool that is new or gone, all that is pinned of it.
    pub text: Option<TextChange>,
}

impl ServerChange {
    fn of(change: &ToolChange, before: &ToolSet, now: &ToolSet) -> Self {
        let text = match change {
            ToolChange::Added { tool } => TextChange::between(&shown(tool), "", &whole(now, tool)),
            ToolChange::Removed { tool } => {
                TextChange::between(&shown(tool), &whole(before, tool), "")
            }
            ToolChange::Field { tool, field, before, after, .. } => TextChange::between(
                &format!("{field} of {}", shown(tool)),
                &lines(before.as_deref()),
                &lines(after.as_deref()),
            ),
            _ => None,
        };
        Self { change: change.to_string(), text }
    }

    /// The same as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "change": self.change, "diff": self.text.as_ref().map(|text| &text.diff) })
    }
}

/// A name of the server's choosing, on one line.
fn shown(tool: &str) -> String {
    tool.escape_debug().to_string()
}

/// Everything that is pinned of a tool, field by field.
fn whole(set: &ToolSet, tool: &str) -> String {
    let fields = set.tools().find(|(name, _)| *name == tool).map(|(_, fields)| fields);
    let field = |(name, json): (&String, &String)| format!("{name}: {}", lines(Some(json)));
    fields.into_iter().flatten().map(field).collect()
}

/// Text as it is, other JSON over several lines, so that a diff shows what changed in it.
fn lines(json: Option<&str>) -> String {
    let Some(json) = json else { return String::new() };
    match serde_json::from_str::<Value>(json) {
        Ok(Value::String(text)) => format!("{text}\n"),
        Ok(value) => format!("{value:#}\n"),
        Err(_) => format!("{json}\n"),
    }
}

/// Words by which a description talks to a model about other things than the tool.
const TO_A_MODEL: [&str; 12] = [
    "ignore ",
    "disregard",
    "do not tell",
    "don't tell",
    "do not mention",
    "without telling",
    "system prompt",
    "<important>",
    "before using any",
    "instead of any other tool",
    "private key",
    "api key",
];

fn suspicions(tool: &Value) -> Vec<String> {
    let text = tool.to_string();
    let lower = text.to_lowercase();
    // What is hidden in JSON is hidden in the value: JSON itself escapes control characters alone.
    let hidden = hidden_characters(&text).count();
    let controls = lower.matches("\\u00").count();
    let mut found = Vec::new();
    if hidden + controls > 0 {
        found.push(format!("{} hidden characters", hidden + controls));
    }
    let words = TO_A_MODEL.iter().filter(|words| lower.contains(**words));
    found.extend(words.map(|words| format!("it says `{}`", words.trim())));
    found.into_iter().map(|what| format!("tool `{}`: {what}", name(tool).escape_debug())).collect()
}

#[cfg(test)]
mod tests;
