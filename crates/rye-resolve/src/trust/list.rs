//! Revocation lists that were read, with remarks on each.

use std::path::Path;

use rye_sign::{
    CommentStyle, KeyId, Origin, RevocationError, RevocationList, TrustStore, Unverified,
};
use rye_types::Timestamp;

use super::entry::{TrustNote, TrustRemark, TrustSubject};
use crate::root::{Root, Text};
use crate::{Location, ResolveError, disk};

/// A revocation list that was read, with remarks on it.
#[non_exhaustive]
#[derive(Debug)]
pub struct RevocationEntry {
    /// The location of the list.
    pub location: Location,
    /// The remarks: why it does not count, or what weakens it.
    pub remarks: Vec<TrustRemark>,
    text: Option<String>,
}

impl RevocationEntry {
    /// Reads the list of a root and revokes its keys, if it counts.
    pub(super) fn admit(
        root: &Root,
        store: &mut TrustStore,
        origin: Origin,
        now: Timestamp,
    ) -> Self {
        let location = root.location(REVOCATION_LIST);
        let text = match root.read(&location) {
            Ok(Text::Disk(text)) => text,
            Ok(Text::Shipped(text)) => text.to_owned(),
            Err(error) => {
                let remarks = vec![TrustRemark::Unreadable(error)];
                return Self { location, remarks, text: None };
            }
        };
        let remarks = match store.admit_list(&text, &location.to_string(), origin, now) {
            Ok(admission) => admission.notes.into_iter().map(TrustRemark::Admitted).collect(),
            Err(error) => vec![TrustRemark::ListRefused(error)],
        };
        Self { location, remarks, text: Some(text) }
    }

    /// The files beside the list of a root that are none, whatever they hold.
    pub(super) fn with_other_names(root: &Root) -> Result<Vec<Self>, ResolveError> {
        let Root::Disk { ai, .. } = root else { return Ok(Vec::new()) };
        let (folder, own) = REVOCATION_LIST.rsplit_once('/').unwrap_or_default();
        let names = disk::names(&ai.join(folder))?.unwrap_or_default();
        let others = names.iter().filter(|name| name.ends_with(".toml") && *name != own);
        let entry = |name: &String| Self {
            location: root.location(&format!("{folder}/{name}")),
            remarks: vec![TrustRemark::ListRefused(RevocationError::Misplaced)],
            text: None,
        };
        Ok(others.map(entry).collect())
    }

    /// Returns `true` if the list counts.
    pub fn counts(&self) -> bool {
        self.remarks.iter().all(TrustRemark::counts)
    }

    /// The whole text, unless it cannot be read.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The parsed list, or `None` if it cannot be parsed. It is returned even if it does not count.
    pub fn list(&self) -> Option<RevocationList> {
        RevocationList::parse(self.text()?).ok()
    }

    /// The key that the signature line names, or `None` if there is no readable signature line.
    pub fn signer(&self) -> Option<KeyId> {
        let signed = Unverified::locate(self.text()?, CommentStyle::Hash).ok()?;
        Some(signed.key_id().clone())
    }

    /// The remarks as notes for the operator.
    pub fn into_notes(self) -> impl Iterator<Item = TrustNote> {
        let Self { location, remarks, .. } = self;
        let subject = TrustSubject::RevocationList;
        let note = move |remark| TrustNote { subject, location: Some(location.clone()), remark };
        remarks.into_iter().map(note)
    }
}

/// Returns `true` for the path of the revocation list of an `.ai` folder.
pub fn is_revocation_list(path: &Path) -> bool {
    path.ends_with(Path::new(".ai").join(REVOCATION_LIST))
}

/// The revocation list of a space, below its `.ai` folder.
pub const REVOCATION_LIST: &str = "config/keys/revoked.toml";
