//! Facts about a resolved file: its place and its signer.

use std::fmt;

use rye_resolve::{Item, ItemId, Location};
use rye_sign::{Digest, Provenance};
use rye_types::{ItemKind, Timestamp};

/// An item as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemFacts {
    /// The sort of item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// The file, and the space that it won in.
    pub location: Location,
    /// The number of bytes of the file.
    pub bytes: usize,
    /// The SHA-256 over all of the file but its signature line, line ends made LF: what a signature of it states.
    pub digest: Digest,
    /// The signer of the file.
    pub signer: Signer,
}

impl ItemFacts {
    /// Kind and id, as messages name it: ``knowledge `notes/style` ``.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} `{}`", self.kind, self.id)
    }

    /// Returns a sentence about an item that is a draft of the operator's, or unsigned.
    pub(crate) fn draft(&self) -> Option<String> {
        let name = self.name();
        match &self.signer {
            Signer::Draft { at, .. } => {
                Some(format!("DRAFT: {name} changed since you signed it at {at}"))
            }
            Signer::Nobody => Some(format!("UNVERIFIED: {name} is not signed by anybody")),
            Signer::Builtin | Signer::Key { .. } => None,
        }
    }

    pub(crate) fn of<T>(item: &Item<T>) -> Self {
        Self {
            kind: item.kind,
            id: item.id.clone(),
            location: item.location.clone(),
            bytes: item.source.len(),
            digest: item.content_digest(),
            signer: Signer::of(item.content.provenance()),
        }
    }
}

/// The signer of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signer {
    /// The program that it is compiled into.
    Builtin,
    /// A trusted key.
    Key {
        /// The key.
        key_id: String,
        /// Its owner, by its trust document.
        owner: Option<String>,
        /// The most that its trust documents let it grant, one list of patterns for each that has a list.
        ceilings: Vec<Vec<String>>,
        /// Sentences about the weak points of the signature.
        notes: Vec<String>,
    },
    /// No key any more: the operator changed the file after signing it.
    Draft {
        /// The time of the signature over the former content.
        at: Timestamp,
        /// The most that its trust documents let the operator's key grant.
        ceilings: Vec<Vec<String>>,
    },
    /// No key: the operator allowed unsigned items.
    Nobody,
}

impl Signer {
    fn of(provenance: &Provenance) -> Self {
        match provenance {
            Provenance::Builtin => Self::Builtin,
            Provenance::Signed(signature) => Self::Key {
                key_id: signature.key_id().to_string(),
                owner: signature.owner().map(str::to_owned),
                ceilings: signature.grants().to_vec(),
                notes: signature.notes().iter().map(ToString::to_string).collect(),
            },
            Provenance::Draft(signature) => {
                Self::Draft { at: signature.at(), ceilings: signature.grants().to_vec() }
            }
            _ => Self::Nobody,
        }
    }

    /// The word that a lock file has for it: `builtin`, `unsigned` or the id of the key. A draft, `draft`, is in no lock.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Builtin => "builtin",
            Self::Key { key_id, .. } => key_id,
            Self::Draft { .. } => "draft",
            Self::Nobody => "unsigned",
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built in"),
            Self::Key { key_id, owner: Some(owner), .. } => {
                write!(f, "signed by {owner} ({key_id})")
            }
            Self::Key { key_id, .. } => write!(f, "signed by {key_id}"),
            Self::Draft { at, .. } => write!(f, "DRAFT: changed since you signed it at {at}"),
            Self::Nobody => f.write_str("SIGNED BY NOBODY"),
        }
    }
}
