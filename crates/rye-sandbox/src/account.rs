//! The account of a program that has ended. The supervisor writes it for the caller.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::call_folder::Notes;
use super::path_encoding;

/// The name of the account in the folder of the call. In a sandbox, programs cannot change this folder.
const NAME: &str = "account.json";

/// The largest length of lists whose length a program decides.
const MOST: usize = 100;

/// The first items of a list, and the number of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt<T> {
    first: Vec<T>,
    more: u64,
}

impl<T> Default for Excerpt<T> {
    fn default() -> Self {
        Self { first: Vec::new(), more: 0 }
    }
}

impl<T> Excerpt<T> {
    /// Returns the first items, at most a hundred.
    #[must_use]
    pub fn first(&self) -> &[T] {
        &self.first
    }

    /// Returns the number of items left out.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(target_os = "linux")]
impl<T> Excerpt<T> {
    pub(super) fn push(&mut self, item: T) {
        match self.first.len() < MOST {
            true => self.first.push(item),
            false => self.more += 1,
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        other.first.into_iter().for_each(|item| self.push(item));
        self.more += other.more;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

#[cfg(target_os = "linux")]
impl<T> FromIterator<T> for Excerpt<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

/// An entry that was renamed because a program had made it, with paths in the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Moved {
    /// The path that the program made.
    #[serde(with = "path_encoding::one")]
    pub from: PathBuf,
    /// The path now.
    #[serde(with = "path_encoding::one")]
    pub to: PathBuf,
}

#[cfg(target_os = "linux")]
impl Moved {
    pub(super) fn new(from: &Path, to: &Path) -> Self {
        Self { from: from.to_owned(), to: to.to_owned() }
    }
}

/// A changed self-starting file, as a path in the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changed(#[serde(with = "path_encoding::one")] pub(crate) PathBuf);

impl Changed {
    /// Returns the path in the project.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// The account of a program and its project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Account {
    /// `true` if the sandbox was complete, so that the program was started.
    pub(crate) is_started: bool,
    /// `true` if the sandbox failed because the project changed during the start. Another attempt may
    /// succeed.
    pub(crate) is_raced: bool,
    /// The version of Landlock whose rights the process gave up, once the sandbox was complete.
    pub(crate) landlock: u8,
    /// The renamed entries.
    pub moved: Excerpt<Moved>,
    /// The self-starting files that changed.
    pub changed: Excerpt<Changed>,
    /// The reason why the project, or a part of it, was not checked, if there is one.
    pub unchecked: Option<String>,
}

impl Account {
    /// Reads the account in the folder of a call. Returns `None` if there is none.
    pub(crate) fn read(notes: &Notes) -> Option<Self> {
        serde_json::from_slice(&notes.read(NAME).ok()?).ok()
    }

    #[cfg(target_os = "linux")]
    pub(super) fn write(&self, notes: &Notes) -> std::io::Result<()> {
        notes.write(NAME, &serde_json::to_vec(self)?, 0o600)
    }
}
