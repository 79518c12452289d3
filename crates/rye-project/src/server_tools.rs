//! The tools of an MCP server, for a decision on their use.

mod wrapper;

use rye_parse::{LineComparer, hidden_characters};
use rye_tools::mcp::{ConnectError, Discovered, ToolChange, ToolSet};
use serde_json::{Value, json};

pub use self::wrapper::{NotWrapped, WrapperFile};
use crate::config::{ConfigError, policy_layers};
use crate::outcome::Class;
use crate::plan::{PrepareError, ServerFault, new_connections, programs, reach};
use crate::project::Project;
use crate::text_change::TextChange;

/// The present tools of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerTools {
    /// Its name in configuration.
    pub server: String,
    /// The part that a lock records.
    pub set: ToolSet,
    /// Its tools as it lists them, sorted by name.
    pub tools: Vec<Value>,
    /// Each entry of its list that is no usable tool, with the reason.
    pub left_out: Vec<String>,
}

/// A reason why the tools of a server are not known.
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
        /// The refusal and its remedy.
        reason: String,
    },
    /// It may not be started or asked.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// It cannot be asked.
    #[error("server `{server}` cannot be asked for its tools{}", stderr_note(.source))]
    Connect {
        /// The server.
        server: String,
        /// The failure of the connection.
        #[source]
        source: ConnectError,
    },
}

/// Returns the complaint of the server on standard error, which mostly has the reason.
fn stderr_note(error: &ConnectError) -> String {
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
    /// Returns the class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Prepare(error) => error.class(),
            Self::Config(_) | Self::Unknown { .. } | Self::Connect { .. } => Class::Failed,
            Self::Refused { .. } => Class::Refused,
        }
    }
}

impl Project {
    /// Connects to a server of the configuration, asks it for its tools, and ends the connection. The server
    /// is a program to start or an address.
    ///
    /// # Errors
    ///
    /// The method fails if no configuration has the server, or if the server cannot be asked. It fails too if
    /// the operator's policy or the file's signer may not start programs or send to other machines.
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
        let web = reach(self).map_err(Box::new)?.web;
        let connections = new_connections(self, processes, web.as_ref());
        let asked = connections.discover(&found).await;
        let Discovered { set, mut tools, left_out, .. } = asked
            .map_err(|source| ServerToolsError::Connect { server: server.to_owned(), source })?;
        tools.sort_by(|a, b| name(a).cmp(name(b)));
        Ok(ServerTools { server: server.to_owned(), set, tools, left_out })
    }
}

impl ServerTools {
    /// Returns the differences from the lock, each with the text behind it. Without a record in the lock,
    /// everything is new.
    #[must_use]
    pub fn changes(&self, locked: Option<&ToolSet>) -> Vec<ServerChange> {
        let before = locked.cloned().unwrap_or_default();
        let changes = before.changes(&self.set);
        let mut comparer = LineComparer::default();
        let changes = changes.iter();
        changes.map(|it| ServerChange::of(&mut comparer, it, &before, &self.set)).collect()
    }

    /// All that a lock would hold of a tool, its schemas over several lines; empty for one that there is not. It is what the
    /// server wrote, hidden characters included.
    #[must_use]
    pub fn pinned_text(&self, tool: &str) -> String {
        whole(&self.set, tool)
    }

    /// Returns remarks for a second look, tool by tool. They name hidden characters of a text, and words that
    /// read as if they were meant for a model. None of it proves anything.
    #[must_use]
    pub fn suspicions(&self) -> Vec<String> {
        self.tools.iter().flat_map(suspicions).collect()
    }

    /// The same facts as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "server": self.server,
            "tools": self.tools,
            "left_out": self.left_out,
            "suspicions": self.suspicions(),
        })
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
    /// The changed tool and field.
    pub change: String,
    /// The change of the text, as a unified diff. For a tool that is new or gone, it has all the pinned text.
    pub text: Option<TextChange>,
}

impl ServerChange {
    fn of(
        comparer: &mut LineComparer,
        change: &ToolChange,
        before: &ToolSet,
        now: &ToolSet,
    ) -> Self {
        let text = match change {
            ToolChange::Added { tool } => {
                TextChange::between(comparer, &display_name(tool), "", &whole(now, tool))
            }
            ToolChange::Removed { tool } => {
                TextChange::between(comparer, &display_name(tool), &whole(before, tool), "")
            }
            ToolChange::Field { tool, field, before, after, .. } => TextChange::between(
                comparer,
                &format!("{} of {}", display_name(field), display_name(tool)),
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
fn display_name(name: &str) -> String {
    name.escape_debug().to_string()
}

/// Everything that is pinned of a tool, field by field.
fn whole(set: &ToolSet, tool: &str) -> String {
    let fields = set.tools().find(|(name, _)| *name == tool).map(|(_, fields)| fields);
    let field =
        |(name, json): (&String, &String)| format!("{}: {}", display_name(name), lines(Some(json)));
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
    // Hidden characters in JSON are hidden in the value. JSON itself escapes control characters alone.
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
