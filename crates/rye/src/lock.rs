//! What directives were made of when somebody last looked, so that a change cannot pass unseen (SPEC 8.7).

mod compare;
mod disk;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rye_resolve::ItemId;
use rye_sign::Digest;

pub use self::compare::{LockFinding, LockReport};
use crate::explain::{Explained, ItemFacts, ToolFacts};

/// The content of `.ai/rye.lock`: for each directive its items, its tools and the exact texts that its thread begins with,
/// placeholders as written.
///
/// A lock is text that is reviewed: sorted, and equal for equal directives. It says nothing of configuration, which differs
/// from machine to machine, nor of when something was signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    directives: BTreeMap<ItemId, Locked>,
}

/// One directive as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Locked {
    items: Vec<LockedItem>,
    tools: Vec<LockedTool>,
    digest: Digest,
    system: Option<String>,
    first_user_message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LockedItem {
    kind: String,
    id: String,
    space: String,
    digest: Digest,
    signer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LockedTool {
    name: String,
    id: Option<String>,
    spec: Digest,
}

impl Lock {
    /// Takes a directive down as it is, in place of what was known of it.
    ///
    /// # Errors
    ///
    /// [`LockError::NoModel`] when nobody can answer, because the provider decides on a part of the texts.
    pub fn insert(&mut self, explained: &Explained) -> Result<(), LockError> {
        if let Err(reason) = &explained.model {
            let (id, reason) = (explained.id.clone(), reason.clone());
            return Err(LockError::NoModel { id, reason });
        }
        self.directives.insert(explained.id.clone(), Locked::of(explained));
        Ok(())
    }

    /// The directives that are locked, sorted.
    pub fn directives(&self) -> impl Iterator<Item = &ItemId> {
        self.directives.keys()
    }

    /// What of a directive is not as it was locked; `None` when it was never locked.
    #[must_use]
    pub fn check(&self, explained: &Explained) -> Option<LockReport> {
        let locked = self.directives.get(&explained.id)?;
        Some(compare::report(locked, &Locked::of(explained), explained))
    }
}

impl Locked {
    fn of(explained: &Explained) -> Self {
        let mut items: Vec<LockedItem> =
            explained.items().into_iter().map(LockedItem::of).collect();
        items.sort_unstable();
        Self {
            items,
            tools: explained.tools.iter().map(LockedTool::of).collect(),
            digest: explained.digest,
            system: explained.system.clone(),
            first_user_message: explained.first_user_message.clone(),
        }
    }
}

impl LockedItem {
    fn of(item: &ItemFacts) -> Self {
        Self {
            kind: item.kind.to_string(),
            id: item.id.to_string(),
            space: item.location.space.to_string(),
            digest: item.digest,
            signer: item.signer.as_str().to_owned(),
        }
    }
}

impl LockedTool {
    fn of(tool: &ToolFacts) -> Self {
        let id = tool.item.as_ref().map(|item| item.id.to_string());
        Self { name: tool.name.clone(), id, spec: tool.spec }
    }
}

/// The text of the file, in TOML.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&disk::written(self))
    }
}

/// Reads the text of the file.
impl FromStr for Lock {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        disk::read(text)
    }
}

/// Why there is no lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Nobody answers for the directive.
    #[error("directive `{id}` cannot be locked, because nobody can answer it: {reason}")]
    NoModel {
        /// The directive.
        id: ItemId,
        /// What stands in the way.
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
        /// What is wrong with the text.
        problem: String,
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
