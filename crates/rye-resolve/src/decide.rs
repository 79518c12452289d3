//! Precedence of the spaces, decided from the files that each holds, without reading a disk.

use rye_types::ItemKind;

use crate::{ItemId, Location, ResolveError};

/// The file that an id means, and the files that it shadows.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file of the nearest space that has the id.
    pub winner: Location,
    /// The files of farther spaces that have the id too, nearest first.
    pub shadowed: Vec<Location>,
}

/// Returns the winner among `candidates` with the index of its root. There is one list per root, nearest
/// first.
///
/// Several files are an error only in the root that decides, because farther roots do not change the answer
/// (SPEC 1.4).
pub(crate) fn decide(
    kind: ItemKind,
    id: &ItemId,
    candidates: Vec<Vec<Location>>,
) -> Result<Option<(usize, Located)>, ResolveError> {
    let mut roots = candidates.into_iter().enumerate();
    let Some((root, mut files)) = roots.find(|(_, files)| !files.is_empty()) else {
        return Ok(None);
    };
    if let [first, _, ..] = files.as_slice() {
        let space = first.space;
        return Err(ResolveError::Ambiguous { kind, id: id.clone(), space, files });
    }
    let winner = files.remove(0);
    let shadowed = roots.flat_map(|(_, files)| files).collect();
    Ok(Some((root, Located { winner, shadowed })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    /// Rows are written as one string per root, nearest first: project, user, system, builtin.
    fn rows(rows: [&str; 4]) -> Vec<Vec<Location>> {
        let spaces = [Space::Project, Space::User, Space::System, Space::Builtin];
        let row = |(space, files): (Space, &str)| {
            files.split_whitespace().map(|file| Location::new(space, file)).collect()
        };
        spaces.into_iter().zip(rows).map(row).collect()
    }

    fn decide_rows(candidates: [&str; 4]) -> Result<Option<(usize, Located)>, ResolveError> {
        decide(ItemKind::Tool, &"t".parse().unwrap(), rows(candidates))
    }

    #[track_caller]
    fn wins(candidates: [&str; 4], root: usize, winner: &str, shadowed: &[&str]) {
        let (index, located) = decide_rows(candidates).unwrap().unwrap();
        let hidden: Vec<_> = located.shadowed.iter().map(|l| l.path.to_str().unwrap()).collect();
        assert_eq!((index, located.winner.path.to_str().unwrap()), (root, winner));
        assert_eq!(hidden, shadowed);
    }

    #[test]
    fn the_project_wins_over_all() {
        wins(["p.py", "u.py", "s.py", "b.py"], 0, "p.py", &["u.py", "s.py", "b.py"]);
    }

    #[test]
    fn the_user_wins_over_the_system() {
        wins(["", "u.py", "s.py", "b.py"], 1, "u.py", &["s.py", "b.py"]);
    }

    #[test]
    fn a_system_root_wins_over_the_program() {
        wins(["", "", "s.py", "b.py"], 2, "s.py", &["b.py"]);
    }

    #[test]
    fn the_program_is_the_last_to_ask() {
        wins(["", "", "", "b.py"], 3, "b.py", &[]);
    }

    #[test]
    fn another_extension_is_shadowed_too() {
        wins(["p.yaml", "u.py", "", ""], 0, "p.yaml", &["u.py"]);
    }

    #[test]
    fn ambiguity_below_the_winner_does_not_decide() {
        wins(["p.yaml", "u.py u.sh", "", ""], 0, "p.yaml", &["u.py", "u.sh"]);
    }

    #[test]
    fn no_space_has_it() {
        assert_eq!(decide_rows(["", "", "", ""]).unwrap(), None);
    }

    #[test]
    fn two_files_in_the_deciding_space() {
        let error = decide_rows(["", "u.yaml u.py", "", "b.py"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tool `t` is ambiguous in the user space: `u.yaml`, `u.py`; keep one of them"
        );
    }
}
