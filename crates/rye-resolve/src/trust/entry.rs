//! Trust documents that were read, with remarks on each.

use std::fmt;

use rye_sign::{
    AdmissionNote, CommentStyle, KeyId, RevocationError, TrustDocument, TrustError, Unverified,
};

use crate::{Location, ResolveError, error::with_causes};

/// A trust document that was read, with remarks on it.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustEntry {
    /// The location of the document, or `None` for one that was named for this run.
    pub location: Option<Location>,
    /// The remarks: why it does not count, or what limits it.
    pub remarks: Vec<TrustRemark>,
    pub(super) stem: Option<String>,
    pub(super) text: Option<String>,
}

impl TrustEntry {
    /// Returns `true` if the document counts. A revocation or an expiry may still have ended the trust in its
    /// key.
    pub fn counts(&self) -> bool {
        self.remarks.iter().all(TrustRemark::counts)
    }

    /// The whole text, unless it cannot be read.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The parsed document, or `None` if it cannot be parsed. It is returned even if it does not count.
    pub fn document(&self) -> Option<TrustDocument> {
        TrustDocument::parse(self.text()?).ok()
    }

    /// Returns `true` if the document is for the key that `key_id` names in either notation. If the document
    /// cannot be parsed, its file name decides.
    pub fn is_for(&self, key_id: &KeyId) -> bool {
        match self.document() {
            Some(document) => document.key().is_named(key_id),
            None => self.stem.as_deref() == Some(key_id.as_str()),
        }
    }

    /// The key that the signature line names, or `None` if there is no readable signature line.
    pub fn signer(&self) -> Option<KeyId> {
        let signed = Unverified::locate(self.text()?, CommentStyle::Hash).ok()?;
        Some(signed.key_id().clone())
    }

    pub(super) fn into_notes(self) -> impl Iterator<Item = TrustNote> {
        let location = self.location;
        let subject = TrustSubject::Document;
        let note = move |remark| TrustNote { subject, location: location.clone(), remark };
        self.remarks.into_iter().map(note)
    }
}

/// A sort of file that decides which keys count.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustSubject {
    /// A trust document.
    Document,
    /// A revocation list.
    RevocationList,
}

/// A remark for the operator on a trust document or a revocation list. `Display` gives the whole message.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustNote {
    /// The sort of the file.
    pub subject: TrustSubject,
    /// The file, or `None` for one that was named for this run.
    pub location: Option<Location>,
    /// The remark.
    pub remark: TrustRemark,
}

impl TrustNote {
    /// Returns `true` if the operator should be warned of the note at each run.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        match &self.remark {
            TrustRemark::Admitted(note) => note.is_warning(),
            TrustRemark::Hidden { .. }
            | TrustRemark::ListRefused(_)
            | TrustRemark::Refused(_)
            | TrustRemark::Unreadable(_) => true,
        }
    }

    /// Returns `true` for a revocation list that was changed, or cannot be read. A list of a project that nobody signed is none.
    pub fn is_broken_list(&self) -> bool {
        let is_of_list = self.subject == TrustSubject::RevocationList;
        is_of_list
            && match &self.remark {
                TrustRemark::ListRefused(error) => {
                    !matches!(error, RevocationError::NotVouched { .. })
                }
                TrustRemark::Unreadable(_) => true,
                _ => false,
            }
    }
}

/// A remark on a trust document or a revocation list.
#[non_exhaustive]
#[derive(Debug)]
pub enum TrustRemark {
    /// The file counts, with this note.
    Admitted(AdmissionNote),
    /// The document does not count.
    Refused(TrustError),
    /// The revocation list does not count.
    ListRefused(RevocationError),
    /// The file cannot be read, and so does not count.
    Unreadable(ResolveError),
    /// The document does not count, because a nearer document for the same key was refused.
    Hidden {
        /// The nearer document.
        by: Location,
    },
}

impl TrustRemark {
    /// Returns `true` if the file counts despite the remark.
    pub(super) fn counts(&self) -> bool {
        matches!(self, Self::Admitted(_))
    }
}

impl fmt::Display for TrustNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sort = match self.subject {
            TrustSubject::Document => "trust document",
            TrustSubject::RevocationList => "revocation list",
        };
        match &self.location {
            Some(location) => write!(f, "{sort} `{location}`: ")?,
            None => write!(f, "{sort} of this run: ")?,
        }
        self.remark.fmt(f)
    }
}

impl fmt::Display for TrustRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted(note) => note.fmt(f),
            Self::ListRefused(error) => f.write_str(&with_causes(error)),
            Self::Refused(error) => f.write_str(&with_causes(error)),
            Self::Unreadable(error) => f.write_str(&with_causes(error)),
            Self::Hidden { by } => {
                write!(
                    f,
                    "it does not count, because `{by}` for the same key was refused; repair that one"
                )
            }
        }
    }
}
