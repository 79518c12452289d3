//! Calls that a configuration would have wait for a decision, of items that are not there.

use std::ops::Range;
use std::path::Path;

use rye_caps::Pattern;
use rye_resolve::ItemId;
use serde_json::Value;

use super::catalog::Catalog;
use super::{Finding, grants};
use crate::aliases::canonical;
use crate::config::APPROVAL_FILE;

/// The patterns of `ask` that no call is ever asked about, because the item of none is there.
pub(super) fn findings(
    catalog: &Catalog<'_>,
    id: &ItemId,
    path: &Path,
    source: &str,
) -> Vec<Finding> {
    if id.as_str() != APPROVAL_FILE {
        return Vec::new();
    }
    let Ok(config) = rye_parse::placed_config(source, super::extension(path)) else {
        return Vec::new();
    };
    let listed = config.value.get("ask").and_then(Value::as_array);
    let placed = listed.into_iter().flatten().enumerate().filter_map(|(index, text)| {
        let pattern = text.as_str()?.parse::<Pattern>().ok()?;
        let index = index.to_string();
        Some(
            canonical(pattern)
                .into_iter()
                .map(|it| (it, config.place(&["ask", &index])))
                .collect::<Vec<_>>(),
        )
    });
    let placed: Vec<(Pattern, Range<usize>)> = placed.flatten().collect();
    let unknown = grants::unknown(catalog, &placed).into_iter();
    unknown.map(|finding| finding.with_label("asks about nothing")).collect()
}
