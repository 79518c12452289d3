//! Files that run programs when an operator opens their folder.

use std::ffi::OsStr;

use crate::names::fold;

/// The self-starting files and folders, in any folder of a project.
const FILES: &[&[&str]] = &[
    &[".envrc"],
    &[".husky"],
    &[".idea"],
    &[".vscode", "settings.json"],
    &[".vscode", "tasks.json"],
];

/// Returns `true` for the path of a self-starting file, given by its parts from the root down.
#[must_use]
pub fn is_self_starting<'a>(parts: impl Iterator<Item = &'a OsStr>) -> bool {
    let folded: Vec<String> = parts.map(fold).collect();
    FILES.iter().any(|file| folded.windows(file.len()).any(|window| window == *file))
}

/// Returns `true` for a path whose target would be self-starting if the path is a link: a self-starting file
/// or a folder with one.
#[cfg(target_os = "linux")]
pub(crate) fn leads_to_self_starting<'a>(parts: impl Iterator<Item = &'a OsStr> + Clone) -> bool {
    let last = parts.clone().last().map(fold).unwrap_or_default();
    let is_folder = FILES.iter().any(|file| file.len() > 1 && file.first() == Some(&&*last));
    is_folder || is_self_starting(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        assert_eq!(is_self_starting(path.split('/').map(OsStr::new)), expected, "{path}");
    }

    #[test]
    fn a_self_starting_file_is_known_in_any_folder_and_spelling() {
        check(".envrc", true);
        check("sub/folder/.envrc", true);
        check(".husky/pre-commit", true);
        check(".idea/workspace.xml", true);
        check(".vscode/tasks.json", true);
        check("sub/.VSCode/Settings.JSON", true);
        check(".env\u{200d}rc", true);
        check(".envrc::$DATA", true);
        check(".vscode/extensions.json", false);
        check("tasks.json", false);
        check("envrc", false);
        check("docs/.envrc.md", false);
    }
}
