//! The signature of a file that does not hold, as a finding.

use std::ops::Range;
use std::path::Path;

use rye_resolve::{ItemId, ItemKind};
use rye_sign::{CommentStyle, Error};

use super::finding::{Finding, UNKNOWN_KEY, UNSIGNED};
use crate::config::{is_hooks, is_provider, rules_of_file};
use crate::project::Project;

/// Returns the problem of a signature that keeps the item from being used. It never bars signing,
/// because a new signature mends it.
pub(super) fn finding(
    project: &Project,
    path: &Path,
    kind: ItemKind,
    id: &ItemId,
    source: &str,
) -> Option<Finding> {
    // A file type without comments has a finding of its own.
    CommentStyle::of_extension(super::extension(path))?;
    let error = project.provenance(path, source, kind, Some(id)).err()?;
    let code = error.code();
    let message = error.to_string();
    let place = line(source);
    Some(match error {
        Error::Unsigned => unsigned_finding(kind, id).with_label("no signature line"),
        Error::UnknownKey { .. } => {
            Finding::remark(UNKNOWN_KEY, &message, place).with_label("signed by this key")
        }
        Error::NotCovered { .. } | Error::ContentOnlyDenied { .. } => {
            Finding::warning(code, &message, place).with_label("refused for use")
        }
        _ => Finding { bars_signing: false, ..Finding::error(code, &message, place) }
            .with_label("refused for use"),
    })
}

/// Items without a signature are as good as absent; configuration stops every run that reads it.
fn unsigned_finding(kind: ItemKind, id: &ItemId) -> Finding {
    let refused = match kind {
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
