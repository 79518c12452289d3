//! The signature of a file that does not hold, as a finding.

use std::ops::Range;
use std::path::Path;

use rye_caps::Layer;
use rye_resolve::{FilePath, ItemId, ResolveError};
use rye_sign::{CommentStyle, Error, PublicKey};
use rye_types::{ItemKind, Timestamp};

use super::finding::{DRAFT, Finding, UNKNOWN_KEY, UNSIGNED};
use crate::config::{DEFAULT_PROVIDER_FILE, is_hooks, is_provider, rules_of_file};
use crate::plan::{ceilings, ceilings_of_key};
use crate::project::Project;

/// The signature of a file.
#[derive(Debug, Clone)]
pub(super) enum Signature {
    /// It holds. Each layer is the most that its signer may grant.
    Holds(Vec<Layer>),
    /// It keeps the item from being used.
    Fails(Finding),
    /// The file has a type without comments, which is a finding of its own.
    Impossible,
}

impl Signature {
    /// Returns the problem of a signature that keeps the item from being used. It never bars signing,
    /// because a new signature mends it.
    pub(super) fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Fails(finding) => Some(finding),
            _ => None,
        }
    }

    /// Returns the most that the signer may grant; nothing bounds an item that no run uses.
    pub(super) fn bounds(&self) -> &[Layer] {
        match self {
            Self::Holds(layers) => layers,
            _ => &[],
        }
    }
}

/// The signature of `key` for the file at `path`, which is about to be signed.
pub(super) fn of_key(project: &Project, path: &Path, key: &PublicKey) -> Signature {
    let key_id = key.key_id();
    let grants = project.trust_for(path).find(key_id).map_or(&[][..], |known| known.grants());
    Signature::Holds(ceilings_of_key(key_id, grants).unwrap_or_default())
}

/// Judges the signature of the text of a file.
pub(super) fn judge(
    project: &Project,
    path: &Path,
    kind: ItemKind,
    id: &ItemId,
    source: &str,
) -> Signature {
    if CommentStyle::of_extension(super::extension(path)).is_none() {
        return Signature::Impossible;
    }
    match project.provenance(path, source, kind, Some(id)) {
        // A run refuses a trust document with a bad pattern, and names it.
        Ok(provenance) => Signature::Holds(ceilings(&provenance).unwrap_or_default()),
        Err(error) => Signature::Fails(match project.changed_since(path, source, kind, id) {
            Some(at) => draft_finding(at, project.refuses_drafts, line(source)),
            None => of_error(&error, kind, id, source),
        }),
    }
}

/// Judges the signature of a plain file of the project, as [`judge`] does for items.
///
/// # Errors
///
/// The file is missing or cannot be read.
pub(super) fn judge_file(project: &Project, path: &FilePath) -> Result<Signature, ResolveError> {
    match project.library.without_drafts().file(path) {
        Ok(item) => Ok(Signature::Holds(ceilings(item.content.provenance()).unwrap_or_default())),
        Err(ResolveError::Unverified { source, .. }) => {
            Ok(Signature::Fails(match project.file_changed_since(path) {
                Some(at) => draft_finding(at, project.refuses_drafts, 0..0),
                None => of_error(&source, ItemKind::Knowledge, &ItemId::of_file(path), ""),
            }))
        }
        Err(error) => Err(error),
    }
}

fn of_error(error: &Error, kind: ItemKind, id: &ItemId, source: &str) -> Finding {
    let code = error.code();
    let message = error.to_string();
    let place = line(source);
    match error {
        Error::Unsigned => unsigned_finding(kind, id).with_label("no signature line"),
        Error::UnknownKey { .. } => {
            Finding::remark(UNKNOWN_KEY, &message, place).with_label("signed by this key")
        }
        Error::NotCovered { .. } | Error::ContentOnlyDenied { .. } => {
            Finding::warning(code, &message, place).with_label("refused for use")
        }
        _ => Finding { bars_signing: false, ..Finding::error(code, &message, place) }
            .with_label("refused for use"),
    }
}

/// A file that the operator signed and changed since is unfinished, and not somebody else's (SPEC D20).
fn draft_finding(at: Timestamp, is_refused: bool, place: Range<usize>) -> Finding {
    let message = format!(
        "changed since you signed it at {at}, so that nothing uses it; review it and sign it again with `rye sign`"
    );
    let finding = match is_refused {
        true => Finding { bars_signing: false, ..Finding::error(DRAFT, &message, place) },
        false => Finding::remark(DRAFT, &message, place),
    };
    finding.with_label("signed before the change")
}

/// Items without a signature are as good as absent; configuration stops every run that reads it.
fn unsigned_finding(kind: ItemKind, id: &ItemId) -> Finding {
    let refused = match kind {
        ItemKind::Config if id.as_str() == DEFAULT_PROVIDER_FILE => {
            "runs that name no provider are refused"
        }
        ItemKind::Config if is_hooks(id) || rules_of_file(id.as_str()).is_some() => {
            "runs of this project are refused"
        }
        ItemKind::Tool if is_provider(id) => "runs with this provider are refused",
        _ => {
            let message =
                "unsigned, so that nothing uses it; review it and sign it with `rye sign`";
            return Finding::remark(UNSIGNED, message, 0..0);
        }
    };
    let message = format!("unsigned: {refused} until you review it and sign it with `rye sign`");
    Finding::remark(UNSIGNED, &message, 0..0)
}

/// The line that holds the signature: the first one, or the second one behind `#!`.
fn line(source: &str) -> Range<usize> {
    let first = source.find('\n').unwrap_or(source.len());
    if !source.starts_with("#!") {
        return 0..first;
    }
    let start = (first + 1).min(source.len());
    let rest = source.get(start..).unwrap_or_default();
    start..start + rest.find('\n').unwrap_or(rest.len())
}
