//! The pinned form of a server's tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// All tools of a server by name, each with all its other members as canonical JSON.
///
/// The order of the tools and of the members of an object makes no difference. A member of a tool that is `null` counts as
/// missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSet {
    tools: BTreeMap<String, BTreeMap<String, String>>,
}

/// The reason why listed tools cannot be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools have the same name, so that a call would be ambiguous.
    #[error("it offers two tools called {}", quote(.name))]
    Twice {
        /// The name.
        name: String,
    },
    /// A listed value is not a tool.
    #[error("it lists something that is no tool with a name")]
    NoTool,
}

impl ToolSet {
    /// Makes a set from the tools that a server lists, which are JSON objects with a `name`.
    ///
    /// # Errors
    ///
    /// If a tool has no name, or two have the same.
    pub fn of(listed: &[Value]) -> Result<Self, ToolSetError> {
        let mut set = Self::default();
        for tool in listed {
            let members = tool.as_object().ok_or(ToolSetError::NoTool)?;
            let name = members.get("name").and_then(Value::as_str).ok_or(ToolSetError::NoTool)?;
            let others = members.iter().filter(|(key, value)| *key != "name" && !value.is_null());
            let fields = others.map(|(key, value)| (key.clone(), canonical(value))).collect();
            if set.tools.insert(name.to_owned(), fields).is_some() {
                return Err(ToolSetError::Twice { name: name.to_owned() });
            }
        }
        Ok(set)
    }

    /// Returns the tools with their fields, sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.tools.iter().map(|(name, fields)| (name.as_str(), fields))
    }

    /// Adds a recorded tool, and replaces one with the same name.
    pub fn insert(&mut self, name: &str, fields: BTreeMap<String, String>) {
        self.tools.insert(name.to_owned(), fields);
    }

    /// Returns `true` if a tool has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Returns a field of a tool as JSON.
    #[must_use]
    pub fn field(&self, tool: &str, field: &str) -> Option<Value> {
        serde_json::from_str(self.tools.get(tool)?.get(field)?).ok()
    }

    /// Returns the whole set as one canonical JSON text, for digests.
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

    /// Returns the differences of `now` from this set, sorted by the names of the tools.
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
        changes.extend(self.field_changes(now));
        changes.sort_by(|a, b| a.tool().cmp(b.tool()));
        changes
    }

    fn field_changes<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = ToolChange> + 'a {
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

/// A difference from the pinned set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChange {
    /// A tool is new.
    Added {
        /// The name of the tool.
        tool: String,
    },
    /// A tool is gone.
    Removed {
        /// The name of the tool.
        tool: String,
    },
    /// A tool has another name and is otherwise unchanged.
    Renamed {
        /// The pinned name.
        tool: String,
        /// The name now.
        to: String,
    },
    /// A field of a tool changed.
    #[non_exhaustive]
    Field {
        /// The name of the tool.
        tool: String,
        /// The field, a member of the tool.
        field: String,
        /// The pinned value as canonical JSON.
        before: Option<String>,
        /// The value now.
        after: Option<String>,
    },
}

impl ToolChange {
    /// Returns the pinned name of the tool, or the new name if the tool is new.
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

/// Names the tool and the field. The server's other texts are left out, because a model may read the message.
impl fmt::Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = quote(self.tool());
        match self {
            Self::Added { .. } => write!(f, "tool {tool} is new"),
            Self::Removed { .. } => write!(f, "tool {tool} is gone"),
            Self::Renamed { to, .. } => write!(f, "tool {tool} is called {} now", quote(to)),
            Self::Field { field, before, after, .. } => {
                let how = match (before, after) {
                    (None, _) => "is new",
                    (_, None) => "is gone",
                    _ => "changed",
                };
                write!(f, "{} of tool {tool} {how}", quote(field))
            }
        }
    }
}

/// Returns a name from a server in short form, with invisible characters escaped.
pub(super) fn quote(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && c != '`';
    let shown: String = name
        .chars()
        .take(64)
        .map(|c| if is_plain(c) { c.to_string() } else { c.escape_unicode().to_string() })
        .collect();
    let more = if name.chars().count() > 64 { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// Returns JSON with sorted keys and without spaces, so that equal values have equal texts.
fn canonical(value: &Value) -> String {
    fn sort_keys(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(sort_keys).collect(),
            Value::Object(members) => {
                let members: BTreeMap<&String, Value> =
                    members.iter().map(|(key, value)| (key, sort_keys(value))).collect();
                members
                    .into_iter()
                    .map(|(key, value)| (key.clone(), value))
                    .collect::<Map<_, _>>()
                    .into()
            }
            _ => value.clone(),
        }
    }
    sort_keys(value).to_string()
}

#[cfg(test)]
mod tests;
