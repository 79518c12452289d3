//! All ids of a kind, with the winner of each over the spaces.

use rye_types::ItemKind;

use crate::{
    ItemId, Location, ResolveError,
    decide::decide,
    stamp::Stamp,
    walk::{Found, Holdings},
};

/// An id with the file that it means.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The item's id.
    pub id: ItemId,
    /// The file of the nearest space that has the id.
    pub location: Location,
}

/// The ids that can be listed, and the problems of those that cannot.
///
/// An id is in one of the two, never in both, because a refused winner hides the files that it shadows.
#[non_exhaustive]
#[derive(Debug, Default)]
pub struct Survey {
    /// The winners, sorted by id.
    pub items: Vec<Listed>,
    /// Ambiguous ids, refused files, folders that cannot be read and names that are no ids.
    pub problems: Vec<ResolveError>,
}

/// The file that an id means, with its root and its stamp.
#[derive(Debug)]
pub(crate) struct Winner {
    pub(crate) kind: ItemKind,
    pub(crate) id: ItemId,
    pub(crate) location: Location,
    /// The index of its root among the roots, nearest first.
    pub(crate) root: usize,
    pub(crate) stamp: Stamp,
}

/// Lists every id that any of `roots` holds. The roots are given nearest first.
pub(crate) fn survey(kind: ItemKind, roots: Vec<Holdings>) -> Survey {
    let (winners, problems) = winners(kind, roots);
    let listed = |Winner { id, location, .. }| Listed { id, location };
    Survey { items: winners.into_iter().map(listed).collect(), problems }
}

/// Decides every id that any of `roots` holds. The roots are given nearest first; the winners are sorted by
/// id.
pub(crate) fn winners(kind: ItemKind, roots: Vec<Holdings>) -> (Vec<Winner>, Vec<ResolveError>) {
    let mut winners = Vec::new();
    let mut problems = Vec::new();
    let mut all: Vec<(usize, Found)> = Vec::new();
    for (root, holdings) in roots.into_iter().enumerate() {
        problems.extend(holdings.problems);
        all.extend(holdings.found.into_iter().map(|found| (root, found)));
    }
    // Stable, so that the files of one root stay in the order of their paths.
    all.sort_by(|(left_root, left), (right_root, right)| {
        (&left.id, left_root).cmp(&(&right.id, right_root))
    });
    let mut all = all.into_iter().peekable();
    while let Some(first) = all.next() {
        let mut rivals = Vec::new();
        while let Some(rival) = all.next_if(|(_, found)| found.id == first.1.id) {
            rivals.push(rival);
        }
        match settle(kind, first, rivals) {
            Ok(winner) => winners.push(winner),
            Err(problem) => problems.push(problem),
        }
    }
    (winners, problems)
}

/// Decides between the files of one id. `first` is the first file of the nearest root that has the id.
fn settle(
    kind: ItemKind,
    (root, first): (usize, Found),
    rivals: Vec<(usize, Found)>,
) -> Result<Winner, ResolveError> {
    if !rivals.is_empty() {
        let mut candidates = vec![Vec::new(); root + 1];
        candidates[root].push(first.location.clone());
        for (rival, found) in rivals {
            candidates.resize(candidates.len().max(rival + 1), Vec::new());
            candidates[rival].push(found.location);
        }
        decide(kind, &first.id, candidates)?;
    }
    let Found { id, location, stamp } = first;
    Ok(Winner { kind, id, location, root, stamp: stamp? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    fn holds(space: Space, files: &[(&str, &str)]) -> Holdings {
        let found = files.iter().map(|(id, file)| Found {
            id: id.parse().unwrap(),
            location: Location::new(space, *file),
            stamp: match file.strip_prefix('!') {
                Some(_) => Err(ResolveError::NotAFile { path: file.into() }),
                None => Ok(Stamp::of_text("")),
            },
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
        assert_eq!((listed, refused), (to_strings(items), to_strings(problems)));
    }

    fn to_strings(texts: &[&str]) -> Vec<String> {
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
