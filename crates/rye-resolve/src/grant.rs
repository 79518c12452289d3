//! Capability patterns of the entries of a `<permissions>` block.

use rye_caps::{Grant, PatternError};
use rye_parse::{PermissionEntry, Permissions, Spanned};

use crate::PermissionProblem;

/// Returns the grant that `entries` declare, or every entry that is not a capability pattern.
pub(crate) fn grant(entries: &[Spanned<PermissionEntry>]) -> Result<Grant, Vec<PermissionProblem>> {
    let mut patterns = Vec::new();
    let mut problems = Vec::new();
    for entry in entries {
        match permission_grant(&entry.value) {
            Ok(more) => patterns.extend_from_slice(more.patterns()),
            Err(reason) => problems.push(PermissionProblem { span: entry.span.clone(), reason }),
        }
    }
    if problems.is_empty() { Ok(patterns.into_iter().collect()) } else { Err(problems) }
}

/// Returns every entry of a `<permissions>` block that is not a capability pattern, so that authors can check
/// before they sign.
pub fn permission_problems(permissions: &Permissions) -> Vec<PermissionProblem> {
    grant(&permissions.entries).err().unwrap_or_default()
}

/// The grant of one entry of a `<permissions>` block.
///
/// # Errors
///
/// The entry is not a capability pattern.
pub fn permission_grant(entry: &PermissionEntry) -> Result<Grant, PatternError> {
    match entry {
        PermissionEntry::Everything => Ok(Grant::everything()),
        PermissionEntry::Primary { primary } => Grant::of_primary(primary),
        PermissionEntry::Item { primary, kind, pattern } => Grant::of_items(primary, kind, pattern),
        PermissionEntry::Literal { pattern } => Ok([pattern.parse()?].into_iter().collect()),
    }
}
