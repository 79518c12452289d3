//! Every id of a kind, decided over the spaces.

use std::collections::BTreeMap;

use crate::{
    ItemId, ItemKind, Located, Location, ResolveError, decide::decide, walk::Found, walk::Holdings,
};

/// An item that can be asked for, and the file that would answer.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The item's id.
    pub id: ItemId,
    /// The file of the nearest space that has the id.
    pub location: Location,
}

/// All that can be listed, next to all that cannot.
///
/// An id is in one of the two, never in both: a refused winner hides what it shadows.
#[non_exhaustive]
#[derive(Debug, Default)]
pub struct Survey {
    /// The winners, sorted by id.
    pub items: Vec<Listed>,
    /// Ambiguous ids, refused files, folders that cannot be read and names that are no ids.
    pub problems: Vec<ResolveError>,
}

/// Decides every id that any of `roots`, nearest first, holds.
pub(crate) fn survey(kind: ItemKind, roots: Vec<Holdings>) -> Survey {
    let count = roots.len();
    let mut survey = Survey::default();
    let mut ids: BTreeMap<ItemId, Vec<Vec<Found>>> = BTreeMap::new();
    for (index, holdings) in roots.into_iter().enumerate() {
        survey.problems.extend(holdings.problems);
        for found in holdings.found {
            let rows = ids.entry(found.id.clone()).or_default();
            rows.resize_with(count, Vec::new);
            rows[index].push(found);
        }
    }
    for (id, rows) in ids {
        match settle(kind, &id, rows) {
            Ok(location) => survey.items.push(Listed { id, location }),
            Err(problem) => survey.problems.push(problem),
        }
    }
    survey
}

fn settle(kind: ItemKind, id: &ItemId, rows: Vec<Vec<Found>>) -> Result<Location, ResolveError> {
    let candidates =
        rows.iter().map(|row| row.iter().map(|found| found.location.clone()).collect());
    let decision = decide(kind, id, candidates.collect())?;
    let (_, Located { winner, .. }) =
        decision.expect("because an id is only here when some root holds it");
    let fault = rows.into_iter().flatten().find(|found| found.location == winner);
    match fault.and_then(|found| found.fault) {
        Some(problem) => Err(problem),
        None => Ok(winner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    fn holds(space: Space, files: &[(&str, &str)]) -> Holdings {
        let found = files.iter().map(|(id, file)| Found {
            id: id.parse().unwrap(),
            location: Location::new(space, *file),
            fault: file.starts_with('!').then(|| ResolveError::NotAFile { path: file.into() }),
        });
        Holdings { found: found.collect(), problems: Vec::new() }
    }

    #[track_caller]
    fn check(project: &[(&str, &str)], user: &[(&str, &str)], items: &[&str], problems: &[&str]) {
        let roots = vec![holds(Space::Project, project), holds(Space::User, user)];
        let survey = survey(ItemKind::Tool, roots);
        let listed: Vec<_> =
            survey.items.iter().map(|item| format!("{} {}", item.id, item.location)).collect();
        let refused: Vec<_> = survey.problems.iter().map(ToString::to_string).collect();
        assert_eq!((listed, refused), (owned(items), owned(problems)));
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn winners_are_sorted_by_id() {
        check(
            &[("b", "b.sh")],
            &[("c", "c.sh"), ("a", "a.sh")],
            &["a a.sh", "b b.sh", "c c.sh"],
            &[],
        );
    }

    #[test]
    fn the_shadowed_are_not_listed() {
        check(&[("a", "p/a.sh")], &[("a", "u/a.py")], &["a p/a.sh"], &[]);
    }

    #[test]
    fn an_ambiguous_id_is_a_problem_and_not_the_user_s() {
        check(
            &[("a", "a.sh"), ("a", "a.py")],
            &[("a", "u/a.py"), ("b", "u/b.py")],
            &["b u/b.py"],
            &["tool `a` is ambiguous in the project space: `a.sh`, `a.py`; keep one of them"],
        );
    }

    #[test]
    fn a_refused_winner_hides_what_it_shadows() {
        check(
            &[("a", "!a.sh")],
            &[("a", "u/a.sh")],
            &[],
            &["`!a.sh` is not a plain file; move it away or give it another name"],
        );
    }

    #[test]
    fn a_refused_loser_is_no_problem() {
        check(&[("a", "a.sh")], &[("a", "!u/a.sh")], &["a a.sh"], &[]);
    }
}
