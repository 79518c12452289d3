//! The rule by which `git` recognises a repository, for the file tools and for the check after a program.

/// The file that every repository has.
pub const HEAD: &str = "HEAD";

/// The other names of a repository: it has the first, or the two others.
pub const PARTS: [&str; 3] = ["commondir", "objects", "refs"];

/// The kind of an entry in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the rule needs no further kind")]
pub enum Entry {
    /// Nothing.
    Absent,
    /// A folder.
    Folder,
    /// A file, a link or anything else.
    Other,
}

/// Returns `true` if `git` takes a folder for a repository. Such a folder has a `HEAD` that is not a folder, and either
/// `objects` and `refs` or a `commondir` that refers to them. A `HEAD` that is a link counts too, because its
/// target may change.
///
/// # Errors
///
/// The error of `entry`.
pub fn is_repository<E>(mut entry: impl FnMut(&str) -> Result<Entry, E>) -> Result<bool, E> {
    if entry(HEAD)? != Entry::Other {
        return Ok(false);
    }
    let [common, objects, refs] = PARTS;
    if entry(common)? != Entry::Absent {
        return Ok(true);
    }
    Ok(entry(objects)? != Entry::Absent && entry(refs)? != Entry::Absent)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_folder_is_a_repository_by_what_git_needs() {
        for (files, folders, expected) in [
            ("HEAD", "objects refs", true),
            ("HEAD commondir", "", true),
            ("HEAD objects refs", "", true),
            ("HEAD", "objects", false),
            ("HEAD", "refs", false),
            ("", "objects refs", false),
            ("commondir", "", false),
            ("", "HEAD objects refs", false),
            ("commondir", "HEAD", false),
        ] {
            let has = |list: &str, name: &str| list.split(' ').any(|one| one == name);
            let found = is_repository::<Infallible>(|name| {
                Ok(match (has(files, name), has(folders, name)) {
                    (true, _) => Entry::Other,
                    (_, true) => Entry::Folder,
                    _ => Entry::Absent,
                })
            });
            assert_eq!(found.unwrap(), expected, "{files} {folders}");
        }
    }
}
