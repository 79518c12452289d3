//! Edits of a text file: exact texts are replaced, all or none.

mod diff;
mod places;
pub(super) mod problem;

use super::error::refuse_over;
use super::protected::Access;
use super::read::Source;
use super::replace::{Meanwhile, Outcome, Target, replace};
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, MAX_FILE_BYTES, Root};

/// The largest number of edits in a call.
pub const MAX_EDITS: usize = 100;

/// A text to replace, and the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edit {
    /// The text as it is in the file, including white space.
    pub old: String,
    /// The text that takes its place.
    pub new: String,
    /// The occurrences of `old` to replace.
    pub occurrences: Occurrences,
}

impl Edit {
    /// Replaces the only occurrence of `old`.
    pub fn new(old: &str, new: &str) -> Self {
        Self { old: old.to_owned(), new: new.to_owned(), occurrences: Occurrences::Only }
    }

    /// Replaces every occurrence of `old`.
    #[must_use]
    pub fn everywhere(self) -> Self {
        Self { occurrences: Occurrences::All, ..self }
    }
}

/// The occurrences of a text that an edit replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one or all by name")]
pub enum Occurrences {
    /// The only occurrence. Two are an error.
    Only,
    /// All occurrences, of which there must be at least one.
    All,
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The path as asked, with `/` between its parts.
    pub path: String,
    /// The size of the file now, in bytes.
    pub bytes: usize,
    /// The number of texts that were replaced.
    pub replaced: usize,
    /// The change as a unified diff without file names. It is cut after 16 KiB, and its last line then says
    /// how much is missing.
    pub diff: String,
    /// The self-starting files that were changed, such as `.envrc`.
    pub self_starting: Vec<String>,
}

/// Applies several edits to a text file below the root: all of them, or none.
///
/// Each `old` is searched for in the original file, not in the result of other edits, so their order does not
/// matter. In a file whose lines all end with CRLF, line ends in `old` and `new` stand for CRLF. Otherwise,
/// the rules of [`write`](super::write) apply.
///
/// # Errors
///
/// The errors of [`write`](super::write) and [`read`](super::read). [`Error::Edits`] lists every edit that
/// cannot be applied. [`Error::Changed`] if the file was changed during the call. [`Error::OverLimit`] for
/// more edits than [`MAX_EDITS`]. After an error, the file is unchanged.
pub fn edit(root: &Root, path: &str, edits: &[Edit]) -> Result<Edited, Error> {
    edit_with(root, path, edits, || {})
}

/// Performs [`edit`], and calls `meanwhile` between reading and replacing.
fn edit_with(
    root: &Root,
    path: &str,
    edits: &[Edit],
    meanwhile: impl FnOnce(),
) -> Result<Edited, Error> {
    let (asked, guard) = prepare(root, path, Access::Write)?;
    let path = asked.text();
    refuse_over("the number of edits", edits.len(), MAX_EDITS)?;
    let (folder, name, self_starting) = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Folder { .. } => return Err(Error::IsFolder { path }),
        Place::Missing { .. } => return Err(Error::NotFound { path }),
        Place::File { metadata, .. } if metadata.permissions().readonly() => {
            return Err(Error::ReadOnly { path });
        }
        Place::File { folder, name, self_starting, .. } => (folder, name, self_starting),
    };
    let source = Source { folder: &folder, name: &name, guard: &guard, path: &path };
    let (text, old) = source.text()?;
    let change = change(&text, edits, &path)?;
    meanwhile();
    let target = Target { folder: &folder, name: &name, old: Some(&old) };
    match replace(&target, change.text.as_bytes(), Meanwhile::Unchanged(text.as_bytes())) {
        Ok(Outcome::Replaced) => Ok(Edited {
            path,
            bytes: change.text.len(),
            replaced: change.replaced,
            diff: change.diff,
            self_starting,
        }),
        Ok(Outcome::Changed) => Err(Error::Changed { path }),
        Err(source) => Err(Error::Io { action: "write", path, source }),
    }
}

struct Change {
    text: String,
    replaced: usize,
    diff: String,
}

fn change(text: &str, edits: &[Edit], path: &str) -> Result<Change, Error> {
    let places = places::find(text, edits)
        .map_err(|problems| Error::Edits { path: path.to_owned(), problems })?;
    let removed: usize = places.iter().map(|place| place.range.len()).sum();
    let added = places.iter().try_fold(0, |sum: usize, place| sum.checked_add(place.new.len()));
    let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let bytes =
        added.and_then(|added| (text.len() - removed).checked_add(added)).map_or(u64::MAX, size);
    if bytes > MAX_FILE_BYTES {
        return Err(Error::TooLarge { path: path.to_owned(), bytes, maximum: MAX_FILE_BYTES });
    }
    let mut changed = String::with_capacity(text.len());
    let mut end = 0;
    for place in &places {
        changed.push_str(text.get(end..place.range.start).unwrap_or_default());
        changed.push_str(&place.new);
        end = place.range.end;
    }
    changed.push_str(text.get(end..).unwrap_or_default());
    Ok(Change { text: changed, replaced: places.len(), diff: diff::unified_diff(text, &places) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates another program that acts between reading and replacing.
    #[track_caller]
    fn check(meanwhile: impl FnOnce(&std::path::Path), left: Option<&str>) {
        let project = tempfile::tempdir().unwrap();
        let path = project.path().join("a.md");
        std::fs::write(&path, "one").unwrap();
        let root = Root::open(project.path()).unwrap();
        let edits = [Edit::new("one", "two")];
        let error = edit_with(&root, "a.md", &edits, || meanwhile(&path)).unwrap_err();
        let expected = "`a.md` was changed by another program meanwhile, so nothing was written; read it again";
        assert_eq!(error.to_string(), expected);
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), left);
        let n_left = std::fs::read_dir(project.path()).unwrap().count();
        assert_eq!(n_left, usize::from(left.is_some()), "no temporary file stays");
    }

    #[test]
    fn a_file_that_changed_in_the_meantime_is_left_alone() {
        check(|path| std::fs::write(path, "won").unwrap(), Some("won"));
        check(|path| std::fs::write(path, "one more").unwrap(), Some("one more"));
        check(|path| std::fs::remove_file(path).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_another_one_replaced_is_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let moved = |path: &std::path::Path| {
            let other = path.with_extension("new");
            std::fs::write(&other, "one").unwrap();
            std::fs::rename(other, path).unwrap();
        };
        check(moved, Some("one"));
        let closed = |path: &std::path::Path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        check(closed, Some("one"));
    }

    #[test]
    fn a_long_edit_is_refused_before_the_file_is_read() {
        let project = tempfile::tempdir().unwrap();
        let root = Root::open(project.path()).unwrap();
        let edits = vec![Edit::new("a", "b"); MAX_EDITS + 1];
        let error = edit(&root, "none", &edits).unwrap_err();
        assert_eq!(error.to_string(), "the number of edits is 101, at most 100 is allowed");
    }
}
