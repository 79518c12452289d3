//! Files that run programs when an operator opens their folder.

use std::ffi::OsStr;

use serde_json::{Value, json};

use crate::fs::fold;
use crate::process::{QUARANTINED, UNCHECKED};

/// The member of a tool's result that lists the self-starting files which the call changed, as paths in the
/// project.
pub const SELF_STARTING: &str = "self_starting";

/// The self-starting files and folders, in any folder of a project.
const FILES: &[&[&str]] = &[
    &[".envrc"],
    &[".husky"],
    &[".idea"],
    &[".vscode", "settings.json"],
    &[".vscode", "tasks.json"],
];

/// Returns `true` for the path of a self-starting file, given by its parts from the root down.
pub(crate) fn is_self_starting<'a>(parts: impl Iterator<Item = &'a OsStr>) -> bool {
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

/// The members of a result that only Rye sets.
const OWN: [&str; 3] = [SELF_STARTING, QUARANTINED, UNCHECKED];

/// Returns the result of a program or server. If it has a member that only Rye sets, it becomes the member
/// `output` of a new object.
pub(crate) fn foreign(result: Value) -> Value {
    let speaks = OWN.iter().any(|name| result.get(name).is_some());
    if speaks { json!({ "output": result }) } else { result }
}

/// Returns the result of a call with the list of self-starting files that it changed, if there are any.
///
/// A result that is not an object becomes the member `output` of one.
pub(crate) fn with_self_starting(result: Value, files: &[String]) -> Value {
    if files.is_empty() {
        return result;
    }
    let mut object = match result {
        Value::Object(object) => Value::Object(object),
        other => json!({ "output": other }),
    };
    object[SELF_STARTING] = files.into();
    object
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

    #[test]
    fn no_program_speaks_for_rye() {
        for (result, expected) in [
            (json!("unchecked"), json!("unchecked")),
            (json!({ "a": { "unchecked": 1 } }), json!({ "a": { "unchecked": 1 } })),
            (json!({ "unchecked": 1 }), json!({ "output": { "unchecked": 1 } })),
            (json!({ "quarantined": [] }), json!({ "output": { "quarantined": [] } })),
            (
                json!({ "a": 1, "self_starting": 0 }),
                json!({ "output": { "a": 1, "self_starting": 0 } }),
            ),
        ] {
            assert_eq!(foreign(result), expected);
        }
    }

    #[test]
    fn a_result_names_the_files_whatever_it_is() {
        let files = [".envrc".to_owned()];
        assert_eq!(
            with_self_starting(json!({ "a": 1 }), &files),
            json!({ "a": 1, "self_starting": [".envrc"] })
        );
        assert_eq!(
            with_self_starting(json!("text"), &files),
            json!({ "output": "text", "self_starting": [".envrc"] })
        );
        assert_eq!(with_self_starting(json!("text"), &[]), json!("text"));
    }
}
