//! The revocation of a key.

use std::fmt;

use rye_types::Timestamp;

use crate::key_id::KeyId;
use crate::origin::Origin;

/// The revocation of a key. `Display` gives `revoked at TIME`, and the list that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revocation {
    /// The stated time. What the key signed before it is refused, too.
    pub at: Timestamp,
    /// The list that revokes the key; `None` for a trust document.
    pub by: Option<Box<RevokingList>>,
}

/// The list that revokes a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevokingList {
    /// The file, as the reader of the list named it.
    pub file: String,
    /// The key that signed the list, if any.
    pub signer: Option<KeyId>,
    /// The reason, for people; often empty.
    pub reason: String,
    /// The source of the list.
    pub origin: Origin,
}

impl Revocation {
    pub(crate) fn is_of_project(&self) -> bool {
        self.by.as_ref().is_some_and(|list| list.origin == Origin::Project)
    }
}

impl fmt::Display for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revoked at {}", self.at)?;
        self.by.as_ref().map_or(Ok(()), |list| write!(f, " by {list}"))
    }
}

impl fmt::Display for RevokingList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, ", self.file)?;
        match &self.signer {
            Some(signer) => write!(f, "signed by `{signer}`")?,
            None => f.write_str("which is unsigned")?,
        }
        match self.reason.trim() {
            "" => Ok(()),
            // The text of a stranger gives the terminal no commands.
            reason => write!(f, " (\"{}\")", reason.escape_debug()),
        }
    }
}
