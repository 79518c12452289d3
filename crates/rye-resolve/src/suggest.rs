//! "Did you mean": the existing id that is nearest to an unknown one.

use rye_parse::nearest_name;
use rye_types::ItemKind;

use crate::ItemId;

/// Returns the id among `known` that `wanted` was probably meant to be.
///
/// An id with a file extension or a wrong folder is likelier than several wrong letters, so these are tried
/// first.
pub fn nearest_id<'a>(
    kind: ItemKind,
    wanted: &ItemId,
    known: impl Iterator<Item = &'a ItemId> + Clone,
) -> Option<&'a ItemId> {
    let stem = wanted.as_str().rsplit_once('.').filter(|(_, e)| kind.extensions().contains(e));
    let bare = stem.map_or(wanted.as_str(), |(stem, _)| stem);
    let name = bare.rsplit_once('/').map_or(bare, |(_, name)| name);
    let same_id = known.clone().find(|id| id.as_str() == bare);
    let same_name = || known.clone().find(|id| id.name() == name);
    if let Some(id) = same_id.or_else(same_name) {
        return Some(id);
    }
    let near = nearest_name(bare, known.clone().map(ItemId::as_str))?;
    known.into_iter().find(|id| id.as_str() == near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, expected: Option<&str>) {
        let known: Vec<ItemId> = ["base", "deploy/rollback", "deploy/staging", "report/weekly"]
            .iter()
            .map(|id| id.parse().unwrap())
            .collect();
        let found = nearest_id(ItemKind::Directive, &wanted.parse().unwrap(), known.iter());
        assert_eq!(found.map(ItemId::as_str), expected);
    }

    #[test]
    fn a_wrong_letter() {
        check("deploy/stagign", Some("deploy/staging"));
    }

    #[test]
    fn a_written_extension() {
        check("deploy/staging.md", Some("deploy/staging"));
    }

    #[test]
    fn a_missing_folder() {
        check("weekly", Some("report/weekly"));
    }

    #[test]
    fn nothing_near() {
        check("translate", None);
    }
}
