//! Rules for every text file.

use crate::tidy::tree::File;

/// Folders of checkouts and homes on the machines of developers. They are split so that this file does not
/// match.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Finds pending snapshots and absolute paths of a machine.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    tree.iter().flat_map(|file| pending(file).into_iter().chain(machine_paths(file))).collect()
}

fn pending(file: &File) -> Option<String> {
    let name = file.name();
    let is_pending = name.ends_with(".snap.new") || name.ends_with(".pending-snap");
    is_pending.then(|| format!("`{}` is not reviewed; run `cargo insta review`", file.path))
}

fn machine_paths(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for needle in MACHINE_PATHS.iter().filter(|needle| holds_absolute(line, needle)) {
            findings.push(format!(
                "`{}` names the machine's `{needle}` in line {}",
                file.path,
                index + 1
            ));
        }
    }
    findings
}

/// Returns `true` if `needle` starts a path in `line` and is not part of a relative one.
fn holds_absolute(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(index, _)| {
        let before = line.get(..index).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !"_-.}>)*/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{MACHINE_PATHS, holds_absolute};

    #[test]
    fn a_relative_path_that_holds_the_same_folder_is_fine() {
        let [home, _] = MACHINE_PATHS else { panic!("there are two") };
        assert!(holds_absolute(&format!("see `{home}x`"), home));
        assert!(holds_absolute(&format!("{home}x"), home));
        assert!(!holds_absolute(&format!("see `a{home}x`"), home));
    }
}
