//! Locks: the parts of a directive at the last review, so that no change passes unseen (SPEC 8.7).

mod disk;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rye_resolve::{Item, ItemId};
use rye_sign::Digest;
use rye_tools::mcp::ToolSet;
use rye_types::ItemKind;

/// The content of `.ai/rye.lock`: for each directive its items, its configuration, its tools and the exact texts that its
/// thread begins with, placeholders as written; and what MCP servers offer.
///
/// A lock is text that is reviewed: sorted, and equal for equal directives. It says nothing of configuration in the user
/// space and in extra system roots, which differs from machine to machine, nor of when something was signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// `true` if an unlocked directive of the project is a finding.
    is_of_project: bool,
    directives: BTreeMap<ItemId, LockedDirective>,
    /// The tools of MCP servers, by the servers' names in configuration.
    servers: BTreeMap<String, ToolSet>,
}

/// One directive as it was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "another member makes another format of the lock")]
pub struct LockedDirective {
    /// The files that count wherever the project is, sorted.
    pub items: Vec<LockedItem>,
    /// The tools that a model is offered.
    pub tools: Vec<LockedTool>,
    /// The digest of the two texts.
    pub digest: Digest,
    /// The system message, placeholders as written.
    pub system: Option<String>,
    /// The first user message, placeholders as written.
    pub first_user_message: String,
    /// The statements of the chain's directives, by name, such as ``limit `turns` ``, in words. They tell what a changed directive
    /// changed; the digests of the items decide. A lock of an earlier version has none.
    pub facts: BTreeMap<String, String>,
}

/// One file of a locked directive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "another member makes another format of the lock")]
pub struct LockedItem {
    /// The kind of the item, as it is written.
    pub kind: String,
    /// The id of the item.
    pub id: String,
    /// The space of the file.
    pub space: String,
    /// The digest of its content.
    pub digest: Digest,
    /// The key that signed it, or `builtin` or `unsigned`.
    pub signer: String,
}

/// One tool that a locked directive offers to its model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "another member makes another format of the lock")]
pub struct LockedTool {
    /// The name that the model calls.
    pub name: String,
    /// The item behind it; `None` for a tool that every thread has.
    pub id: Option<String>,
    /// The digest over name, description and schemas.
    pub spec: Digest,
}

/// A part of what a call returns into a thread: a directive of the chain, or knowledge (SPEC D16).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutedPart {
    /// The kind of the item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// The digest of its content.
    pub digest: Digest,
}

impl ExecutedPart {
    pub(crate) fn of<T>(item: &Item<T>) -> Self {
        let digest = item.content_digest();
        Self { kind: item.kind, id: item.id.clone(), digest }
    }

    fn is(&self, item: &LockedItem) -> bool {
        (item.kind.as_str(), item.id.as_str()) == (self.kind.as_str(), self.id.as_str())
    }
}

impl fmt::Display for ExecutedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.id)
    }
}

impl Lock {
    /// Compares what a call returns into a thread of the directive `thread` with the records of that directive and of the
    /// executed one. Knowledge has no record of its own, so that any directive's record of it counts where that of the thread has
    /// none. Returns a sentence for each part that is not as it was locked (SPEC D16).
    #[must_use]
    pub fn compare_executed(
        &self,
        thread: &ItemId,
        (kind, id): (ItemKind, &ItemId),
        parts: &[ExecutedPart],
    ) -> Vec<String> {
        let own = self.directive(id).filter(|_| kind == ItemKind::Directive);
        let holders: Vec<&LockedDirective> =
            self.directive(thread).into_iter().chain(own).collect();
        let mut problems = Vec::new();
        for part in parts {
            let of_holders = holders.iter().flat_map(|holder| &holder.items);
            let mut known: Vec<&LockedItem> = of_holders.filter(|item| part.is(item)).collect();
            if known.is_empty() && kind == ItemKind::Knowledge {
                let all = self.directives.values().flat_map(|directive| &directive.items);
                known.extend(all.filter(|item| part.is(item)));
            }
            match known.first() {
                _ if known.iter().any(|item| item.digest == part.digest) => {}
                None => problems.push(format!("{part} is not in the lock")),
                Some(before) => {
                    let (before, now) = (before.digest.shortened(), part.digest.shortened());
                    problems.push(format!("{part} changed: sha256 {before} is {now} now"));
                }
            }
        }
        problems
    }

    /// A lock that is to hold every directive of the project, so that a new one does not pass unseen; the default is one of
    /// chosen directives.
    #[must_use]
    pub fn of_project() -> Self {
        Self { is_of_project: true, ..Self::default() }
    }

    /// Reads the text of the file without the directives and servers whose texts were changed by hand. The
    /// result names those, so that the caller can write them again.
    ///
    /// # Errors
    ///
    /// The function fails if the text is no lock at all.
    pub fn salvage(text: &str) -> Result<(Self, Vec<LockError>), LockError> {
        disk::salvage(text)
    }

    /// Returns the tools of the MCP server at the time when a person accepted them.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&ToolSet> {
        self.servers.get(name)
    }

    /// The MCP servers that are locked, sorted.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &ToolSet)> {
        self.servers.iter().map(|(name, set)| (name.as_str(), set))
    }

    /// Takes down what an MCP server offers, in place of what was known of it.
    pub fn insert_server(&mut self, name: &str, set: ToolSet) {
        self.servers.insert(name.to_owned(), set);
    }

    /// The same lock with the servers of another one, which no look at directives finds out.
    #[must_use]
    pub fn with_servers_of(mut self, other: &Self) -> Self {
        self.servers.clone_from(&other.servers);
        self
    }

    /// Records a directive, in place of its older record.
    pub fn insert(&mut self, id: ItemId, directive: LockedDirective) {
        self.directives.insert(id, directive);
    }

    /// Returns the record of a directive.
    #[must_use]
    pub fn directive(&self, id: &ItemId) -> Option<&LockedDirective> {
        self.directives.get(id)
    }

    /// Keeps a directive as another lock has it, where this one does not hold it.
    pub fn keep(&mut self, id: &ItemId, from: &Self) {
        if let (false, Some(locked)) = (self.directives.contains_key(id), from.directives.get(id)) {
            self.directives.insert(id.clone(), locked.clone());
        }
    }

    /// Those of the project's directives that it should hold and does not.
    #[must_use]
    pub fn missing<'a>(&self, project: &'a [ItemId]) -> Vec<&'a ItemId> {
        let is_missing = |id: &&ItemId| self.is_of_project && !self.directives.contains_key(*id);
        project.iter().filter(is_missing).collect()
    }

    /// The directives that are locked, sorted.
    pub fn directives(&self) -> impl Iterator<Item = &ItemId> {
        self.directives.keys()
    }
}

/// The text of the file, in TOML.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&disk::to_text(self))
    }
}

/// Reads the text of the file.
impl FromStr for Lock {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        disk::read(text)
    }
}

/// The reason why there is no lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// No model answers for the directive.
    #[error("directive `{id}` cannot be locked, because nobody can answer it: {reason}")]
    NoModel {
        /// The directive.
        id: ItemId,
        /// The obstacle.
        reason: String,
    },
    /// A later version of the program wrote the file.
    #[error(
        "the lock has format {version}, and this version of Rye reads format 1; use the version that wrote it"
    )]
    OtherFormat {
        /// The format that the file states.
        version: i64,
    },
    /// The text is not a lock.
    #[error("the lock cannot be read: {problem}; write it again with `rye lock`")]
    Unreadable {
        /// The problem of the text.
        problem: String,
    },
    /// The recorded tools of a server were changed by hand.
    #[error(
        "what server `{server}` offers does not have the digest that the lock states; write it again with `rye lock --server {server}`"
    )]
    EditedServer {
        /// The server.
        server: String,
    },
    /// The texts of a directive were changed by hand.
    #[error(
        "the texts of directive `{id}` in the lock do not have the digest that it states; write it again with `rye lock {id}`"
    )]
    Edited {
        /// The directive.
        id: ItemId,
    },
}

#[cfg(test)]
mod tests;
