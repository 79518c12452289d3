//! What a server offers, as it is pinned: every tool with everything that says what it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// The members of a tool that are pinned, as the protocol names them.
pub const FIELDS: [&str; 5] =
    ["annotations", "description", "inputSchema", "outputSchema", "title"];

/// Every tool of a server: by name, the [`FIELDS`] that it has, each as canonical JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSet {
    tools: BTreeMap<String, BTreeMap<String, String>>,
}

/// Why a list of tools is none that can be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools have one name, so that nobody knows which one a call means.
    #[error("it offers two tools called {}", quoted(.name))]
    Twice {
        /// The name.
        name: String,
    },
    /// What is listed is no tool.
    #[error("it lists something that is no tool with a name")]
    NoTool,
}

impl ToolSet {
    /// The set of tools as a server lists them, each a JSON object with a `name`; what is not among the [`FIELDS`] is left out.
    ///
    /// # Errors
    ///
    /// When something has no name, or two have the same.
    pub fn of(listed: &[Value]) -> Result<Self, ToolSetError> {
        let mut set = Self::default();
        for tool in listed {
            let name = tool.get("name").and_then(Value::as_str).ok_or(ToolSetError::NoTool)?;
            let field = |field: &&str| {
                let value = tool.get(*field).filter(|value| !value.is_null())?;
                Some(((*field).to_owned(), canonical(value)))
            };
            let fields = FIELDS.iter().filter_map(field).collect();
            if set.tools.insert(name.to_owned(), fields).is_some() {
                return Err(ToolSetError::Twice { name: name.to_owned() });
            }
        }
        Ok(set)
    }

    /// Each tool with its fields, sorted.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.tools.iter().map(|(name, fields)| (name.as_str(), fields))
    }

    /// Takes in a tool as it was written down, in place of one of that name.
    pub fn insert(&mut self, name: &str, fields: BTreeMap<String, String>) {
        self.tools.insert(name.to_owned(), fields);
    }

    /// Whether a tool has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// A field of a tool, as JSON.
    #[must_use]
    pub fn field(&self, tool: &str, field: &str) -> Option<Value> {
        serde_json::from_str(self.tools.get(tool)?.get(field)?).ok()
    }

    /// The whole set as one canonical JSON text, which is what a digest is of.
    #[must_use]
    pub fn canonical(&self) -> String {
        let fields = |fields: &BTreeMap<String, String>| -> Value {
            fields
                .iter()
                .map(|(name, json)| (name.clone(), Value::from(json.as_str())))
                .collect::<Map<_, _>>()
                .into()
        };
        let tools: Map<String, Value> =
            self.tools.iter().map(|(name, it)| (name.clone(), fields(it))).collect();
        canonical(&Value::from(tools))
    }

    /// What of `now` is not as in this set, sorted by the tool's name; empty when nothing is.
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<ToolChange> {
        let gone: Vec<&String> = self.tools.keys().filter(|name| !now.has(name)).collect();
        let mut new: BTreeSet<&String> = now.tools.keys().filter(|name| !self.has(name)).collect();
        let mut changes = Vec::new();
        for name in gone {
            let same = new.iter().find(|other| now.tools.get(**other) == self.tools.get(name));
            let to =
                same.copied().filter(|_| self.tools.get(name).is_some_and(|it| !it.is_empty()));
            changes.push(match to {
                Some(to) => {
                    new.remove(to);
                    ToolChange::Renamed { tool: name.clone(), to: to.clone() }
                }
                None => ToolChange::Removed { tool: name.clone() },
            });
        }
        changes.extend(new.into_iter().map(|tool| ToolChange::Added { tool: tool.clone() }));
        changes.extend(self.altered(now));
        changes.sort_by(|a, b| a.tool().cmp(b.tool()));
        changes
    }

    fn altered<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = ToolChange> + 'a {
        let both =
            self.tools.iter().filter_map(|(name, was)| Some((name, was, now.tools.get(name)?)));
        both.flat_map(|(name, was, is)| {
            let fields: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
            let differs = fields.into_iter().filter(|field| was.get(*field) != is.get(*field));
            differs.map(|field| ToolChange::Field {
                tool: name.clone(),
                field: field.clone(),
                before: was.get(field).cloned(),
                after: is.get(field).cloned(),
            })
        })
    }
}

/// One thing of a server that is not as it was pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChange {
    /// A tool is new.
    Added {
        /// Its name.
        tool: String,
    },
    /// A tool is gone.
    Removed {
        /// Its name.
        tool: String,
    },
    /// A tool has another name, and nothing else about it changed.
    Renamed {
        /// Its name before.
        tool: String,
        /// Its name now.
        to: String,
    },
    /// Something about a tool changed.
    #[non_exhaustive]
    Field {
        /// Its name.
        tool: String,
        /// Which of the [`FIELDS`].
        field: String,
        /// What it was, as canonical JSON.
        before: Option<String>,
        /// What it is.
        after: Option<String>,
    },
}

impl ToolChange {
    /// The tool, by the name that was pinned where there is one.
    #[must_use]
    pub fn tool(&self) -> &str {
        match self {
            Self::Added { tool }
            | Self::Removed { tool }
            | Self::Renamed { tool, .. }
            | Self::Field { tool, .. } => tool,
        }
    }
}

/// Says which tool and which field, and nothing of what a server wrote but names: a model may read it.
impl fmt::Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = quoted(self.tool());
        match self {
            Self::Added { .. } => write!(f, "tool {tool} is new"),
            Self::Removed { .. } => write!(f, "tool {tool} is gone"),
            Self::Renamed { to, .. } => write!(f, "tool {tool} is called {} now", quoted(to)),
            Self::Field { field, before, after, .. } => {
                let how = match (before, after) {
                    (None, _) => "is new",
                    (_, None) => "is gone",
                    _ => "changed",
                };
                write!(f, "`{field}` of tool {tool} {how}")
            }
        }
    }
}

/// A name of the server's choosing, short and with nothing in it that is not seen.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && c != '`';
    let shown: String = name
        .chars()
        .take(64)
        .map(|c| if is_plain(c) { c.to_string() } else { c.escape_unicode().to_string() })
        .collect();
    let more = if name.chars().count() > 64 { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// JSON with sorted keys and without spaces, so that equal values have equal texts.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(sorted).collect(),
            Value::Object(members) => {
                let members: BTreeMap<&String, Value> =
                    members.iter().map(|(key, value)| (key, sorted(value))).collect();
                members
                    .into_iter()
                    .map(|(key, value)| (key.clone(), value))
                    .collect::<Map<_, _>>()
                    .into()
            }
            _ => value.clone(),
        }
    }
    sorted(value).to_string()
}

#[cfg(test)]
mod tests;
