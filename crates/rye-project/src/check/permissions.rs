//! The patterns that the text of `<permissions>` declares, with their places.

use std::ops::Range;

use rye_caps::{Grant, Pattern};
use rye_parse::{Directive, Permissions};
use rye_resolve::permission_grant;

use crate::aliases::canonical;

/// Each permission that is a pattern, with its place, where an alias counts as its tool.
pub(super) fn granted_patterns(permissions: &Permissions) -> Vec<(Pattern, Range<usize>)> {
    let written = written_patterns(permissions).into_iter();
    let meant = |(pattern, span): (Pattern, Range<usize>)| {
        canonical(pattern).into_iter().map(move |pattern| (pattern, span.clone()))
    };
    written.flat_map(meant).collect()
}

/// Each permission that is a pattern, with its place, as the file has it.
pub(super) fn written_patterns(permissions: &Permissions) -> Vec<(Pattern, Range<usize>)> {
    let entries = permissions.entries.iter();
    let grants = entries
        .filter_map(|entry| Some((permission_grant(&entry.value).ok()?, entry.span.clone())));
    let patterns = |(grant, span): (Grant, Range<usize>)| {
        let patterns = grant.patterns().to_vec().into_iter();
        patterns.map(move |pattern| (pattern, span.clone()))
    };
    grants.flat_map(patterns).collect()
}

/// The grant of these permissions.
pub(super) fn grant(granted: &[(Pattern, Range<usize>)]) -> Grant {
    granted.iter().map(|(pattern, _)| pattern.clone()).collect()
}

/// Returns the grant that the text of a directive declares.
pub(super) fn declared_grant(link: &Directive) -> Grant {
    link.permissions
        .as_ref()
        .map_or_else(Grant::nothing, |block| grant(&granted_patterns(&block.value)))
}
