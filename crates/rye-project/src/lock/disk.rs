//! The lock as a file.

use std::collections::BTreeMap;
use std::fmt::Display;

use rye_resolve::ItemId;
use rye_sign::Digest;
use rye_tools::mcp::ToolSet;
use serde::{Deserialize, Serialize};

use super::{Lock, LockError, LockedDirective, LockedItem, LockedTool};
use crate::opening_digest::opening_digest;

const FORMAT: i64 = 1;

const HEADER: &str = "\
# Made by `rye lock`; do not edit it by hand. `rye check --locked` holds the project against it.
# A change of a text below is a change of what a model reads.

";

/// The version of a file. It is read first, so that a later format is named as such and is not taken for
/// damage.
#[derive(Deserialize)]
struct Versioned {
    version: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: i64,
    /// `true` if the lock is to hold every directive of the project.
    #[serde(default, skip_serializing_if = "is_false")]
    whole_project: bool,
    #[serde(default, rename = "directive", skip_serializing_if = "Vec::is_empty")]
    directives: Vec<DirectiveTable>,
    #[serde(default, rename = "server", skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerTable>,
}

/// The tools of an MCP server.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    name: String,
    sha256: String,
    #[serde(default, rename = "tool")]
    tools: Vec<ServerToolTable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerToolTable {
    name: String,
    /// The members that are pinned, as canonical JSON.
    #[serde(default)]
    fields: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectiveTable {
    id: String,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    first_user_message: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, String>,
    #[serde(default, rename = "item")]
    items: Vec<ItemTable>,
    #[serde(default, rename = "tool")]
    tools: Vec<ToolTable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemTable {
    kind: String,
    id: String,
    space: String,
    sha256: String,
    signer: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    sha256: String,
}

pub(super) fn to_text(lock: &Lock) -> String {
    let directives = lock.directives.iter().map(|(id, locked)| table(id, locked)).collect();
    let servers = lock.servers.iter().map(|(name, set)| server_table(name, set)).collect();
    let file = File { version: FORMAT, whole_project: lock.is_of_project, directives, servers };
    let text = toml::to_string_pretty(&file).expect("because names and texts are TOML");
    format!("{HEADER}{text}")
}

pub(super) fn read(text: &str) -> Result<Lock, LockError> {
    let (lock, damaged) = salvage(text)?;
    damaged.into_iter().next().map_or(Ok(lock), Err)
}

/// The lock without the parts that do not have their digest, and what is wrong with those.
pub(super) fn salvage(text: &str) -> Result<(Lock, Vec<LockError>), LockError> {
    // A checkout may have given the lines other ends. What is a part of a text is written as an escape.
    let text = &text.replace("\r\n", "\n");
    let Versioned { version } = toml::from_str(text).map_err(|error| unreadable(&error))?;
    if version != FORMAT {
        return Err(LockError::OtherFormat { version });
    }
    let file: File = toml::from_str(text).map_err(|error| unreadable(&error))?;
    let mut damaged = Vec::new();
    let directives = whole(file.directives, parse_directive, "directive", &mut damaged)?;
    let servers = whole(file.servers, server, "server", &mut damaged)?;
    Ok((Lock { is_of_project: file.whole_project, directives, servers }, damaged))
}

/// Reads each table; those that were edited are put aside, and one name twice is an error.
fn whole<T, K: Ord + Clone + Display, V>(
    tables: Vec<T>,
    read: impl Fn(T) -> Result<(K, V), LockError>,
    what: &str,
    damaged: &mut Vec<LockError>,
) -> Result<BTreeMap<K, V>, LockError> {
    let mut all = BTreeMap::new();
    for table in tables {
        match read(table) {
            Ok((name, value)) => {
                if all.insert(name.clone(), value).is_some() {
                    return Err(unreadable(&format!("it has {what} `{name}` twice")));
                }
            }
            Err(error @ (LockError::Edited { .. } | LockError::EditedServer { .. })) => {
                damaged.push(error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn server_table(name: &str, set: &ToolSet) -> ServerTable {
    let tool = |(name, fields): (&str, &BTreeMap<String, String>)| ServerToolTable {
        name: name.to_owned(),
        fields: fields.clone(),
    };
    ServerTable {
        name: name.to_owned(),
        sha256: server_digest(set).to_string(),
        tools: set.tools().map(tool).collect(),
    }
}

fn server(table: ServerTable) -> Result<(String, ToolSet), LockError> {
    let server = table.name;
    let mut set = ToolSet::default();
    let stated = sha256(&table.sha256)?;
    let tools = table.tools.len();
    for tool in table.tools {
        set.insert(&tool.name, tool.fields);
    }
    if server_digest(&set) != stated || set.tools().count() != tools {
        return Err(LockError::EditedServer { server });
    }
    Ok((server, set))
}

fn server_digest(set: &ToolSet) -> Digest {
    Digest::of(set.canonical().as_bytes())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn table(id: &ItemId, locked: &LockedDirective) -> DirectiveTable {
    let item = |item: &LockedItem| ItemTable {
        kind: item.kind.clone(),
        id: item.id.clone(),
        space: item.space.clone(),
        sha256: item.digest.to_string(),
        signer: item.signer.clone(),
    };
    let tool = |tool: &LockedTool| ToolTable {
        name: tool.name.clone(),
        id: tool.id.clone(),
        sha256: tool.spec.to_string(),
    };
    DirectiveTable {
        id: id.to_string(),
        sha256: locked.digest.to_string(),
        system: locked.system.clone(),
        first_user_message: locked.first_user_message.clone(),
        facts: locked.facts.clone(),
        items: locked.items.iter().map(item).collect(),
        tools: locked.tools.iter().map(tool).collect(),
    }
}

fn parse_directive(mut table: DirectiveTable) -> Result<(ItemId, LockedDirective), LockError> {
    let id: ItemId = table.id.parse().map_err(|error| unreadable(&error))?;
    let stated = sha256(&table.sha256)?;
    if opening_digest(table.system.as_deref(), &table.first_user_message) != stated {
        return Err(LockError::Edited { id });
    }
    let items = std::mem::take(&mut table.items).into_iter().map(item).collect::<Result<_, _>>()?;
    let tools = std::mem::take(&mut table.tools).into_iter().map(tool).collect::<Result<_, _>>()?;
    let DirectiveTable { system, first_user_message, facts, .. } = table;
    Ok((id, LockedDirective { items, tools, digest: stated, system, first_user_message, facts }))
}

fn item(table: ItemTable) -> Result<LockedItem, LockError> {
    let ItemTable { kind, id, space, sha256: digest, signer } = table;
    Ok(LockedItem { kind, id, space, digest: sha256(&digest)?, signer })
}

fn tool(table: ToolTable) -> Result<LockedTool, LockError> {
    let ToolTable { name, id, sha256: spec } = table;
    Ok(LockedTool { name, id, spec: sha256(&spec)? })
}

fn sha256(text: &str) -> Result<Digest, LockError> {
    text.parse().map_err(|error| unreadable(&error))
}

/// One line, because TOML's own messages draw the place over several.
fn unreadable(problem: &impl ToString) -> LockError {
    let problem = problem.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    LockError::Unreadable { problem }
}
