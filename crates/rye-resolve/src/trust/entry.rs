//! What came of each trust document that was looked at.

use std::fmt;

use rye_sign::{AdmissionNote, CommentStyle, KeyId, TrustDocument, TrustError, Unverified};

use crate::{Location, ResolveError, error::with_causes};

/// A trust document that was looked at, and what came of it.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustEntry {
    /// Where it is, or `None` for one that was named for this run.
    pub location: Option<Location>,
    /// What there is to know of it.
    pub remarks: Vec<TrustRemark>,
    pub(super) stem: Option<String>,
    pub(super) text: Option<String>,
}

impl TrustEntry {
    /// Whether its key is trusted through it, which a revocation or an expiry may have ended since.
    pub fn counts(&self) -> bool {
        self.remarks.iter().all(|remark| matches!(remark, TrustRemark::Admitted(_)))
    }

    /// The whole text, unless it cannot be read.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// What it states, if it can be understood; that it counts is not thereby said.
    pub fn document(&self) -> Option<TrustDocument> {
        TrustDocument::parse(self.text()?).ok()
    }

    /// Whether it is for the key that `key_id` names in either notation, by its content or, where that cannot be
    /// understood, by its file name.
    pub fn is_for(&self, key_id: &KeyId) -> bool {
        match self.document() {
            Some(document) => document.key().is_named(key_id),
            None => self.stem.as_deref() == Some(key_id.as_str()),
        }
    }

    /// The key that its signature line names, if it has one that can be read.
    pub fn signer(&self) -> Option<KeyId> {
        let signed = Unverified::locate(self.text()?, CommentStyle::Hash).ok()?;
        Some(signed.key_id().clone())
    }

    pub(super) fn into_notes(self) -> impl Iterator<Item = TrustNote> {
        let location = self.location;
        let note = move |remark| TrustNote { location: location.clone(), remark };
        self.remarks.into_iter().map(note)
    }
}

/// Something that the operator should know of a trust document; `Display` is the whole message.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustNote {
    /// The document, or `None` for one that was named for this run.
    pub location: Option<Location>,
    /// What there is to know.
    pub remark: TrustRemark,
}

/// What there is to know of a trust document.
#[non_exhaustive]
#[derive(Debug)]
pub enum TrustRemark {
    /// It counts, with this reservation.
    Admitted(AdmissionNote),
    /// It does not count.
    Refused(TrustError),
    /// It cannot be read, and so does not count.
    Unreadable(ResolveError),
    /// It does not count, because a nearer document for the same key was refused.
    Hidden {
        /// The nearer document.
        by: Location,
    },
}

impl fmt::Display for TrustNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "trust document `{location}`: ")?,
            None => f.write_str("trust document of this run: ")?,
        }
        self.remark.fmt(f)
    }
}

impl fmt::Display for TrustRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted(note) => note.fmt(f),
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
